import { expect, test } from 'vitest';
import { fateOf } from './fate.ts';
import { NO_TLVS, TAG } from './tlv.ts';
import { STATUS } from './status.ts';

const response = (status: number, tlvs = NO_TLVS): Parameters<typeof fateOf>[0] => ({
  kind: 'response',
  pdu: { command: 'submit_sm_resp', status, sequence: 1, messageId: '', tlvs },
});

test("the carrier's own words are the text of a refusal", () => {
  const tlvs = new Map([[TAG.additional_status_info_text, Buffer.from('no credit left\0')]]);
  expect(fateOf(response(0x4a1, tlvs))).toMatchObject({ text: 'The carrier answered 0x000004A1: no credit left' });
});

test('a known refusal is explained, an unknown one named', () => {
  expect(fateOf(response(STATUS.ESME_RINVDSTADR))).toMatchObject({
    text: 'The carrier answered ESME_RINVDSTADR: destination is not valid',
  });
  expect(fateOf(response(STATUS.ESME_RCNTSUBDL))).toMatchObject({ text: 'The carrier answered ESME_RCNTSUBDL' });
});

test('a protocol error, or a bind that is gone, is not the fault of the message', () => {
  for (const status of [STATUS.ESME_RINVBNDSTS, STATUS.ESME_RINVCMDID, STATUS.ESME_RINVTLVLEN]) {
    expect(fateOf(response(status))).toMatchObject({ kind: 'again', cause: 'rebind' });
  }
});

test('a generic_nack without an error says nothing about the message', () => {
  const nack = { command: 'generic_nack', status: 0, sequence: 1 } as const;
  expect(fateOf({ kind: 'response', pdu: nack })).toMatchObject({ kind: 'unknown' });
});
