import { describe, expect, test } from 'vitest';
import type { Draft } from '../messages/read-send.ts';
import { encodeGsm7 } from '../smpp/gsm.ts';
import { EMPTY_MESSAGE, type Message } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { cStringValue, decodeTlvs, TAG, uint8, uint16 } from '../smpp/wire.ts';
import { CLIENT_ID_TAG, readSubmit, type Submitter } from './read-submit.ts';

const NOW = new Date('2026-11-26T12:00:00Z');
const shown = { isCounted: false, of: (id: string) => id };
const BY: Submitter = { id: 7, alphabet: 'gsm', senders: [], defaultCountry: null, shown };

const submit = (more: Partial<Message> = {}): Message => ({
  ...EMPTY_MESSAGE,
  sourceTon: 5,
  source: 'ACME',
  destination: '351912345678',
  shortMessage: Buffer.from('Hello'),
  ...more,
});
const OPTIONS = { now: NOW, passedTags: new Set([0x1401]) };
const read = (more: Partial<Message> = {}, by: Partial<Submitter> = {}) =>
  readSubmit(submit(more), { ...BY, ...by }, OPTIONS);
const draftOf = (more: Partial<Message> = {}, by: Partial<Submitter> = {}): Draft => {
  const one = read(more, by);
  if (!('draft' in one)) throw new Error(`refused with ${one.status}`);
  return one.draft;
};
const statusOf = (more: Partial<Message>, by: Partial<Submitter> = {}): number => {
  const one = read(more, by);
  return 'status' in one ? one.status : STATUS.ESME_ROK;
};
const tlvs = (...entries: [number, Uint8Array][]): ReadonlyMap<number, Uint8Array> => new Map(entries);
const ucs2 = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test('a plain submit is a single SMS that is sent at once, without receipts over SMPP', () => {
  expect(draftOf()).toMatchObject({
    channel: 'SMS',
    source: 'API',
    clientId: null,
    destination: '+351912345678',
    sender: 'ACME',
    body: 'Hello',
    binary: null,
    udh: null,
    validUntil: null,
    scheduledAt: null,
    priority: 0,
    smpp: null,
  });
});

describe('the text', () => {
  test.each([
    ['GSM 03.38', 0, 'gsm', Buffer.from(encodeGsm7('€ @ ñ')), '€ @ ñ'],
    ['Latin-1 as the default alphabet', 0, 'latin1', Buffer.from('é @', 'latin1'), 'é @'],
    ['UTF-8 as the default alphabet', 0, 'utf8', Buffer.from('olá €'), 'olá €'],
    ['IA5', 1, 'gsm', Buffer.from('a_b@c'), 'a_b@c'],
    ['Latin-1', 3, 'gsm', Buffer.from('ñandú', 'latin1'), 'ñandú'],
    ['UCS-2', 8, 'gsm', ucs2('Привет 😀'), 'Привет 😀'],
    ['a flash message in UCS-2', 0x18, 'gsm', ucs2('Ж'), 'Ж'],
  ] as const)('is read as %s', (_, dataCoding, alphabet, octets, body) => {
    expect(draftOf({ dataCoding, shortMessage: octets }, { alphabet }).body).toBe(body);
  });

  test('of any length may be in message_payload', () => {
    const payload = Buffer.from('x'.repeat(1000));
    const message = { shortMessage: new Uint8Array(0), tlvs: tlvs([TAG.message_payload, payload]) };
    expect(draftOf(message).body).toBe('x'.repeat(1000));
    expect(statusOf({ tlvs: message.tlvs })).toBe(STATUS.ESME_RINVMSGLEN);
  });

  test('is octets with data_coding 4, with the header before them', () => {
    const octets = Uint8Array.of(6, 5, 4, 0x0b, 0x84, 0x23, 0xf0, 1, 2, 3);
    const { binary, body, udh } = draftOf({ dataCoding: 4, esmClass: 0x40, shortMessage: octets });
    expect([body, udh]).toEqual(['', null]);
    expect([...(binary?.udh ?? [])]).toEqual([...octets.subarray(0, 7)]);
    expect([...(binary?.data ?? [])]).toEqual([1, 2, 3]);
  });

  test('in an unknown coding is refused', () => {
    expect(statusOf({ dataCoding: 0x7f })).toBe(STATUS.ESME_RINVDCS);
  });
});

describe('a part', () => {
  const header = Uint8Array.of(5, 0, 3, 0x5c, 2, 1);

  test('keeps its header', () => {
    const message = { esmClass: 0x40, shortMessage: Buffer.concat([header, Buffer.from('part one')]) };
    const { body, udh } = draftOf(message);
    expect([body, [...(udh ?? [])]]).toEqual(['part one', [...header]]);
  });

  test('by SAR parameters gets the same header', () => {
    const sar = tlvs(
      [TAG.sar_msg_ref_num, uint16(0x15c)],
      [TAG.sar_total_segments, uint8(2)],
      [TAG.sar_segment_seqnum, uint8(1)],
    );
    expect([...(draftOf({ tlvs: sar }).udh ?? [])]).toEqual([...header]);
  });

  test.each([
    [
      'a header that is longer than the message',
      { esmClass: 0x40, shortMessage: Uint8Array.of(9, 0) },
      'ESME_RINVESMCLASS',
    ],
    ['part 3 of 2', { esmClass: 0x40, shortMessage: Uint8Array.of(5, 0, 3, 1, 2, 3, 65) }, 'ESME_RINVESMCLASS'],
    [
      'a header next to SAR',
      { esmClass: 0x40, shortMessage: header, tlvs: tlvs([TAG.sar_msg_ref_num, uint16(1)]) },
      'ESME_RINVTLVVAL',
    ],
    ['half of SAR', { tlvs: tlvs([TAG.sar_msg_ref_num, uint16(1)]) }, 'ESME_RMISSINGTLV'],
  ] as const)('with %s is refused', (_, message, status) => {
    expect(statusOf(message)).toBe(STATUS[status]);
  });
});

describe('times', () => {
  test('may be absolute, with their offset from UTC', () => {
    expect(draftOf({ scheduleTime: '261127130000004+', validity: '261128120000000+' })).toMatchObject({
      scheduledAt: new Date('2026-11-27T12:00:00Z'),
      validUntil: new Date('2026-11-28T12:00:00Z'),
    });
  });

  test('may be relative: the schedule to now, the validity to the schedule', () => {
    expect(draftOf({ scheduleTime: '000000010000000R', validity: '000000020000000R' })).toMatchObject({
      scheduledAt: new Date('2026-11-26T13:00:00Z'),
      validUntil: new Date('2026-11-26T15:00:00Z'),
    });
  });

  test('a schedule that is over means at once', () => {
    expect(draftOf({ scheduleTime: '261126115900000+' }).scheduledAt).toBeNull();
  });

  test.each([
    ['a schedule that is no time', { scheduleTime: 'tomorrow' }, 'ESME_RINVSCHED'],
    ['a schedule too far ahead', { scheduleTime: '281126115900000+' }, 'ESME_RINVSCHED'],
    ['a validity that is no time', { validity: '2611' }, 'ESME_RINVEXPIRY'],
    ['a validity that is over', { validity: '261126115900000+' }, 'ESME_RINVEXPIRY'],
  ] as const)('%s is refused', (_, message, status) => {
    expect(statusOf(message)).toBe(STATUS[status]);
  });
});

describe('addresses', () => {
  test.each([
    ['international', 1, '351912345678', null, '+351912345678'],
    ['of unknown type, without a default country', 0, '351912345678', null, '+351912345678'],
    ['national, for an account with a default country', 2, '912345678', 'PT', '912345678'],
    ['with its plus', 1, '+351912345678', 'PT', '+351912345678'],
    ['with 00', 0, '00351912345678', null, '00351912345678'],
  ])('a number that is %s is read', (_, destTon, destination, defaultCountry, expected) => {
    expect(draftOf({ destTon, destination }, { defaultCountry }).destination).toBe(expected);
  });

  test('letters are no number', () => {
    expect(statusOf({ destination: 'ACME' })).toBe(STATUS.ESME_RINVDSTADR);
    expect(statusOf({ destTon: 5 })).toBe(STATUS.ESME_RINVDSTTON);
  });

  test('only the senders of the credential may be used, numbers with or without their plus', () => {
    const senders = ['ACME', '+39333'];
    expect(['ACME', '39333', '+39333'].map((source) => statusOf({ source }, { senders }))).toEqual([0, 0, 0]);
    expect(statusOf({ source: 'acme' }, { senders })).toBe(STATUS.ESME_RINVSRCADR);
    expect(statusOf({ source: '' }, { senders })).toBe(STATUS.ESME_RINVSRCADR);
  });
});

test('receipts are asked for with what they say of the submit', () => {
  const message = { registeredDelivery: 0x11, tlvs: tlvs([TAG.user_message_reference, uint16(300)]) };
  expect(draftOf(message).smpp).toEqual({
    credentialId: 7,
    showId: shown.of,
    registered: 0x11,
    reference: 300,
    sourceTon: 5,
    sourceNpi: 0,
    source: 'ACME',
    destTon: 1,
    destNpi: 1,
    destination: '351912345678',
    quote: 'Hello',
  });
});

test("the client's own id is in a parameter of ours", () => {
  expect(draftOf({ tlvs: tlvs([CLIENT_ID_TAG, cStringValue('order-1')]) }).clientId).toBe('order-1');
  expect(statusOf({ tlvs: tlvs([CLIENT_ID_TAG, cStringValue('x'.repeat(101))]) })).toBe(STATUS.ESME_RINVTLVLEN);
});

test.each([
  ['service_type', { serviceType: 'TOOLONG' }, 'ESME_RINVSERTYP'],
  ['priority_flag', { priority: 4 }, 'ESME_RINVPRTFLG'],
  ['registered_delivery', { registeredDelivery: 0x20 }, 'ESME_RINVREGDLVFLG'],
  ['replace_if_present_flag', { replaceIfPresent: 1 }, 'ESME_RINVREPFLAG'],
  ['sm_default_msg_id', { defaultMessageId: 1 }, 'ESME_RINVDFTMSGID'],
  ['esm_class', { esmClass: 0x04 }, 'ESME_RINVESMCLASS'],
] as const)('a %s that we do not serve is refused', (_, message, status) => {
  expect(statusOf(message)).toBe(STATUS[status]);
});

test('a part in UCS-2 keeps its octets, also where a character is divided, and has a text for people', () => {
  const udh = Buffer.from('050003420201', 'hex');
  const octets = ucs2('Hello 😀').subarray(0, -2);
  const draft = draftOf({ esmClass: 0x40, dataCoding: 8, shortMessage: Buffer.concat([udh, octets]) });
  expect(draft.body).toBe('Hello \ufffd');
  expect(draft.udh).toBeNull();
  expect(draft.binary?.dataCoding).toBe(8);
  expect(Buffer.from(draft.binary?.udh ?? [])).toEqual(udh);
  expect(Buffer.from(draft.binary?.data ?? [])).toEqual(Buffer.from(octets));
});

test('of the optional parameters those that the operator lets pass are kept, up to 1,024 octets', () => {
  const value = Buffer.from('campaign-9');
  const hint: [number, Uint8Array] = [0x0426, uint8(1)];
  const draft = draftOf({ tlvs: tlvs([0x1401, value], hint) });
  expect(decodeTlvs(draft.tlvs ?? new Uint8Array())).toEqual(new Map([[0x1401, value]]));
  expect(draftOf({ tlvs: tlvs(hint) }).tlvs).toBeNull();
  expect(statusOf({ tlvs: tlvs([0x1401, Buffer.alloc(1021)]) })).toBe(STATUS.ESME_RINVTLVLEN);
});

test.each([0x0005, 0x020a, 0x020b, 0x0501, 0x1201, 0x1402, 0x4001])(
  'a parameter that would be missed by its receiver is refused, unless it is passed on: 0x%s',
  (tag) => {
    expect(statusOf({ tlvs: tlvs([tag, uint16(1)]) })).toBe(STATUS.ESME_RTLVNOTALLWD);
    const passing = { ...OPTIONS, passedTags: new Set([tag]) };
    expect(readSubmit(submit({ tlvs: tlvs([tag, uint16(1)]) }), BY, passing)).toHaveProperty('draft');
  },
);

test('a national language table of another alphabet than GSM 03.38 is refused', () => {
  const part = { esmClass: 0x40, shortMessage: Buffer.from('0324010141', 'hex') };
  expect(statusOf(part, { alphabet: 'latin1' })).toBe(STATUS.ESME_RINVDCS);
});
