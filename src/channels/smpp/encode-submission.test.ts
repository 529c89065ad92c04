import { expect, test } from 'vitest';
import { submission } from '../../../test/support/carriers/smpp-harness.ts';
import { parseTime } from '../../smpp/message.ts';
import { decodePdu, type PduOf } from '../../smpp/pdu.ts';
import { concatOf, textOf } from '../../smpp/text.ts';
import { encodeTlvs, TAG } from '../../smpp/wire.ts';
import { encodeSubmission } from './encode.ts';
import { parseSmppSettings } from './settings.ts';

const GSM = `${'Hello {world} '.repeat(30)}€`;
const UCS2 = 'Olá 😀 '.repeat(40);

function encode(more: Parameters<typeof submission>[0], settings: object = {}): PduOf<'submit_sm'>[] {
  const parsed = parseSmppSettings({ host: 'h', systemId: 's', ...settings });
  return encodeSubmission(submission(more), parsed, () => 0x1234).map((frame) => {
    const pdu = decodePdu(frame);
    if ('failure' in pdu || pdu.command !== 'submit_sm') throw new Error('not a submit_sm');
    return pdu;
  });
}

const DAY = new Date('2026-12-31T23:59:00Z');

test('a short message is encoded byte for byte as by another implementation', () => {
  const settings = parseSmppSettings({ host: 'h', systemId: 's' });
  const [frame] = encodeSubmission(submission({ body: 'Hello €', validUntil: DAY }), settings, () => 0);
  frame?.writeUInt32BE(2, 12);
  const vector = [
    '00000049 00000004 00000000 00000002 00 05 00 41434d4500 01 01 33353139313233343536373800 00 00 00',
    '00 3236313233313233353930303030302b00 01 00 00 00 08 48656c6c6f201b65',
  ];
  expect(frame?.toString('hex')).toBe(vector.join('').replaceAll(' ', ''));
});

test.each(['udh8', 'udh16', 'sar'] as const)('the parts of a %s message join to the text', (longMode) => {
  for (const body of [GSM, UCS2]) {
    const parts = encode({ body }, { longMode });
    expect(parts.length).toBeGreaterThan(1);
    const ref = longMode === 'udh8' ? 0x34 : 0x1234;
    expect(parts.map((part) => concatOf(part))).toEqual(
      parts.map((_, index) => ({ ref, total: parts.length, seq: index + 1 })),
    );
    expect(parts.map((part) => textOf(part, 'gsm')).join('')).toBe(body);
    expect(parts.every((part) => (part.esmClass === 0x40) === (longMode !== 'sar'))).toBe(true);
  }
});

test('with longMode payload a long text goes out whole, and a short one as usual', () => {
  const [long, ...none] = encode({ body: GSM }, { longMode: 'payload' });
  expect(none).toEqual([]);
  expect(long?.shortMessage).toHaveLength(0);
  expect(long?.tlvs.has(TAG.message_payload)).toBe(true);
  expect(long && textOf(long, 'gsm')).toBe(GSM);
  expect(encode({ body: 'Hi' }, { longMode: 'payload' })[0]?.shortMessage).toHaveLength(2);
});

test('a binary message goes out as it is, with its own header', () => {
  const binary = { udh: Uint8Array.of(6, 5, 4, 0x15, 0x82, 0, 0), data: Uint8Array.of(1, 2, 3) };
  const [part] = encode({ body: '', binary });
  expect(part).toMatchObject({ esmClass: 0x40, dataCoding: 4 });
  expect([...(part?.shortMessage ?? [])]).toEqual([6, 5, 4, 0x15, 0x82, 0, 0, 1, 2, 3]);
  expect(() => encode({ body: '', binary: { udh: new Uint8Array(0), data: new Uint8Array(141) } })).toThrow(RangeError);
});

test('a text behind a header of the client keeps its alphabet, in one part', () => {
  const udh = Uint8Array.of(5, 0, 3, 0x5c, 2, 1);
  for (const [body, dataCoding] of [
    ['x'.repeat(153), 0],
    ['ê'.repeat(67), 8],
  ] as const) {
    const [part, ...others] = encode({ body, udh });
    expect(others).toEqual([]);
    expect(part).toMatchObject({ esmClass: 0x40, dataCoding });
    expect(part?.shortMessage.subarray(0, 6)).toEqual(Buffer.from(udh));
    expect(part && [textOf(part, 'gsm'), concatOf(part)]).toEqual([body, { ref: 0x5c, total: 2, seq: 1 }]);
    expect(() => encode({ body: `${body}x`, udh })).toThrow(RangeError);
  }
});

test('the validity is written in the form that the carrier wants', () => {
  expect(encode({ validUntil: DAY })[0]?.validity).toBe('261231235900000+');
  expect(encode({ validUntil: DAY }, { validity: 'empty' })[0]?.validity).toBe('');
  const inOneHour = encode({ validUntil: new Date(Date.now() + 3_600_500) }, { validity: 'relative' });
  expect(parseTime(inOneHour[0]?.validity ?? '')).toEqual({ relativeMs: 3_600_000 });
});

test('addresses, receipts and data_coding follow submission and settings', () => {
  expect(encode({ sender: '12345', wantReceipt: false }, { shortAddress: { ton: 6 } })).toMatchObject([
    { source: '12345', sourceTon: 6, sourceNpi: 0, registeredDelivery: 0 },
  ]);
  expect(encode({ sender: '+351911111111' }, { plusPrefix: true })).toMatchObject([
    { source: '+351911111111', sourceTon: 1, sourceNpi: 1, destination: '+351912345678' },
  ]);
  expect(encode({}, { gsmDataCoding: 0xf1 })[0]?.dataCoding).toBe(0xf1);
  expect(encode({ body: 'Olá 😀' }, { gsmDataCoding: 0xf1 })[0]?.dataCoding).toBe(8);
});

test('more parts than the header can count are refused', () => {
  expect(() => encode({ body: 'x'.repeat(153 * 256) })).toThrow(/parts/);
});

test('a part of a text that came as octets goes out with these, in its coding', () => {
  const binary = {
    udh: Uint8Array.of(5, 0, 3, 0x42, 2, 1),
    data: Uint8Array.of(0x00, 0x48, 0xd8, 0x3d),
    dataCoding: 8,
  };
  const [part] = encode({ body: 'H\ufffd', binary });
  expect(part).toMatchObject({ esmClass: 0x40, dataCoding: 8 });
  expect(Buffer.from(part?.shortMessage ?? []).toString('hex')).toBe('050003420201' + '0048d83d');
});

test("the sender's own parameters go out with each part, next to ours, and not to a carrier of SMPP 3.3", () => {
  const tlvs = encodeTlvs(new Map([[0x1401, Buffer.from('mine')]]));
  for (const part of encode({ body: GSM, tlvs }, { longMode: 'sar' })) {
    expect(part.tlvs.get(0x1401)).toEqual(Buffer.from('mine'));
    expect(part.tlvs.has(TAG.sar_msg_ref_num)).toBe(true);
  }
  expect(encode({ body: 'Hi', tlvs }, { interfaceVersion: 0x33 })[0]?.tlvs.size).toBe(0);
});

test('a class goes with the text to each part, in the group of its alphabet, and to no other message', () => {
  const codings = (more: object) => [...new Set(encode(more).map(({ dataCoding }) => dataCoding))];
  expect(encode({ body: GSM, dataCoding: 0x10 }).length).toBeGreaterThan(1);
  expect(codings({ body: GSM, dataCoding: 0xf0 })).toEqual([0xf0]);
  expect(codings({ body: UCS2, dataCoding: 0xf1 })).toEqual([0x19]);
  expect(codings({ body: GSM, dataCoding: 0x18 })).toEqual([0x10]);
  expect(codings({ body: GSM, dataCoding: 0xe9 })).toEqual([0xd9]);
  expect(codings({ body: UCS2, dataCoding: 0xc8 })).toEqual([0xe8]);
  expect(codings({ body: GSM })).toEqual([0]);
});

test('a text with a national language table is refused where the alphabet of data_coding 0 is another one', () => {
  const binary = { udh: Uint8Array.of(3, 0x24, 1, 1), data: Uint8Array.of(0x1b, 0x73), dataCoding: 0 };
  expect(() => encode({ body: 'ş', binary }, { defaultAlphabet: 'latin1' })).toThrow(/national language tables/);
  expect(encode({ body: 'ş', binary }, { gsmDataCoding: 0xf1 })).toMatchObject([{ dataCoding: 0xf1 }]);
});
