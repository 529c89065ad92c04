import { expect, test } from 'vitest';
import { STATUS } from '../../smpp/status.ts';
import { NO_TLVS, TAG } from '../../smpp/wire.ts';
import { partResultOf } from './encode.ts';

const response = (status: number, tlvs = NO_TLVS): Parameters<typeof partResultOf>[0] => ({
  kind: 'response',
  pdu: { command: 'submit_sm_resp', status, sequence: 1, messageId: '', tlvs },
});

test("the carrier's own explanation is the text of a refusal", () => {
  const tlvs = new Map([[TAG.additional_status_info_text, Buffer.from('no credit left\0')]]);
  expect(partResultOf(response(0x4a1, tlvs))).toMatchObject({
    text: 'The carrier returned 0x000004A1: no credit left',
  });
});

test('a known refusal is explained, an unknown one is named', () => {
  expect(partResultOf(response(STATUS.ESME_RINVDSTADR))).toMatchObject({
    text: 'The carrier returned ESME_RINVDSTADR: destination is not valid',
  });
  expect(partResultOf(response(STATUS.ESME_RCNTSUBDL))).toMatchObject({ text: 'The carrier returned ESME_RCNTSUBDL' });
});

test.each([
  STATUS.ESME_RSUBMITFAIL,
  STATUS.ESME_RINVSERTYP,
  STATUS.ESME_RPROHIBITED,
  STATUS.ESME_RSERTYPUNAUTH,
  0x22,
  0x4a1,
])('status %i blames the carrier or our account there: another carrier may take the message', (status) => {
  expect(partResultOf(response(status))).toMatchObject({ kind: 'refused', elsewhere: true });
});

test.each([
  STATUS.ESME_RINVDSTADR,
  STATUS.ESME_RINVSRCADR,
  STATUS.ESME_RINVMSGLEN,
  STATUS.ESME_RINVEXPIRY,
  STATUS.ESME_RX_R_APPN,
  STATUS.ESME_RDELIVERYFAILURE,
  0x4ff,
])('status %i concerns the message or is unclear: it ends the message', (status) => {
  expect(partResultOf(response(status))).toMatchObject({ kind: 'refused', elsewhere: false });
});

test('a lost bind is not the fault of the message', () => {
  expect(partResultOf(response(STATUS.ESME_RINVBNDSTS))).toMatchObject({ kind: 'retry', cause: 'rebind' });
});

test('a message whose parameters a carrier does not take goes to another, and the bind of all others stays', () => {
  for (const status of [STATUS.ESME_RINVCMDLEN, STATUS.ESME_RINVTLVLEN])
    expect(partResultOf(response(status))).toMatchObject({ kind: 'refused', elsewhere: true });
});

test('a generic_nack of an operation that the session does not take renews the bind, and rejects no message', () => {
  const nack = { command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: 1 } as const;
  expect(partResultOf({ kind: 'response', pdu: nack })).toMatchObject({ kind: 'retry', cause: 'rebind' });
});

test('a generic_nack without an error says nothing about the message', () => {
  const nack = { command: 'generic_nack', status: 0, sequence: 1 } as const;
  expect(partResultOf({ kind: 'response', pdu: nack })).toMatchObject({ kind: 'unknown' });
});
