import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyMessage } from '../../../test/support/carriers/pdu.arbitrary.ts';
import { cStringValue, NO_TLVS, TAG, type Tlvs, uint8 } from '../../smpp/wire.ts';
import { bareId, isReceipt, type ReceiptSource, readReceipt, receiptText, spellings } from './receipts.ts';

function deliver(text: string, change: Partial<ReceiptSource> = {}): ReceiptSource {
  return {
    esmClass: 0x04,
    dataCoding: 0,
    shortMessage: Buffer.from(text, 'latin1'),
    tlvs: NO_TLVS,
    source: '351912345678',
    destination: 'ACME',
    ...change,
  };
}

function parameters(id: string, state: number, error?: Uint8Array): Tlvs {
  const tlvs = new Map<number, Uint8Array>([
    [TAG.receipted_message_id, cStringValue(id)],
    [TAG.message_state, uint8(state)],
  ]);
  if (error) tlvs.set(TAG.network_error_code, error);
  return tlvs;
}

const FULL =
  'id:0000032675 sub:001 dlvrd:001 submit date:2611201529 done date:2611201530 stat:UNDELIV err:011 text:Hello';
/** A receipt as it is stored: without the beginning of the message that it quotes. */
const stored = (text: string): string => text.replace(/(\btext\s*:).*/is, '$1');
const STORED = stored(FULL);

describe('isReceipt', () => {
  test.for([0x04, 0x08, 0x20, 0x44, 0x07])('the message type says so: esm_class %i', (esmClass) => {
    expect(isReceipt(deliver('', { esmClass }), false)).toBe(true);
  });

  test.for([0x00, 0x03, 0x40, 0x10, 0x18])('the message type says something else: esm_class %i', (esmClass) => {
    expect(isReceipt(deliver(FULL, { esmClass }), false)).toBe(false);
  });

  test('a type that is neither a message nor a receipt is not a receipt, whatever its text looks like', () => {
    expect(isReceipt(deliver(FULL, { esmClass: 0x10 }), true)).toBe(false);
  });

  test('a message that looks like a receipt is one for carriers that omit the type', () => {
    expect(isReceipt(deliver(FULL, { esmClass: 0 }), true)).toBe(true);
    expect(isReceipt(deliver('', { esmClass: 0, tlvs: parameters('1', 2) }), true)).toBe(true);
  });

  test.for(['id: card please', 'my id:5 stat:DELIVRD', 'STOP', 'id:5'])('a text of a person is none: %j', (text) => {
    expect(isReceipt(deliver(text, { esmClass: 0 }), true)).toBe(false);
  });
});

describe('readReceipt', () => {
  test('reads the text of the standard', () => {
    expect(readReceipt(deliver(FULL))).toEqual({
      carrierIds: ['0000032675'],
      state: 'UNDELIVERABLE',
      doneAt: new Date('2026-11-20T15:30:00Z'),
      errorCode: '011',
      destination: '351912345678',
      sender: 'ACME',
      raw: STORED,
    });
  });

  test.for([
    ['ASCII', Buffer.from(FULL)],
    ['ASCII with its NUL', Buffer.from(`${FULL}\0`)],
    ['UCS-2', Buffer.from(FULL, 'utf16le').swap16()],
    ['UCS-2 with a byte order mark', Buffer.from(`\ufeff${FULL}`, 'utf16le').swap16()],
    ['little endian UCS-2', Buffer.from(FULL, 'utf16le')],
    ['little endian UCS-2 with a byte order mark', Buffer.from(`\ufeff${FULL}`, 'utf16le')],
  ] as const)('reads %s whatever data_coding and esm_class say', ([, shortMessage]) => {
    for (const esmClass of [0, 4])
      for (const dataCoding of [0, 3, 4, 8]) {
        const message = deliver('', { esmClass, dataCoding, shortMessage });
        expect(isReceipt(message, true)).toBe(true);
        expect(readReceipt(message)).toMatchObject({ carrierIds: ['0000032675'], state: 'UNDELIVERABLE', raw: STORED });
      }
  });

  test('keeps no code that a receipt quotes', () => {
    const quoting = 'id:7 stat:DELIVRD err:000 Text:123456 is your code';
    expect(readReceipt(deliver(quoting))?.raw).toBe('id:7 stat:DELIVRD err:000 Text:');
  });

  test('reads the parameters when there is no text, and keeps them as the raw text', () => {
    const receipt = readReceipt(deliver('', { tlvs: parameters('7FA3', 2, Uint8Array.of(3, 0, 11)) }));
    expect(receipt).toMatchObject({ carrierIds: ['7FA3'], state: 'DELIVERED', errorCode: '11', doneAt: null });
    expect(receipt?.raw).toBe('001e=3746413300 0427=02 0423=03000b');
  });

  test('prefers the parameters to the text, and keeps the id in the text as the second one', () => {
    expect(readReceipt(deliver(FULL, { tlvs: parameters('7FA3', 2) }))).toMatchObject({
      carrierIds: ['7FA3', '0000032675'],
      state: 'DELIVERED',
    });
  });

  test('reads network errors of both forms: a type with a number, or three digits', () => {
    const codeOf = (error: Uint8Array) => readReceipt(deliver('', { tlvs: parameters('1', 5, error) }))?.errorCode;
    expect(codeOf(Uint8Array.of(7, 4, 1))).toBe('1025');
    expect(codeOf(Buffer.from('404'))).toBe('404');
    expect(codeOf(Uint8Array.of(3, 0, 0))).toBeNull();
  });

  test.for([
    ['other case, order and separators', 'STAT:DELIVRD,ERR:000;Done Date:261120153059 ID:ab-12', 'ab-12', 'DELIVERED'],
    ['missing fields', 'id:5 stat:EXPIRED', '5', 'EXPIRED'],
    ['spaces behind the colons', 'id: 5 stat: DELETED err: 000', '5', 'DELETED'],
    ['a state of six letters', 'id:5 stat:FAILED err:5', '5', 'UNDELIVERABLE'],
    ['an id of a UUID', 'id:0190-aF stat:REJECTD', '0190-aF', 'REJECTED'],
    ['an underscore in the id', 'id:a_b@c stat:ACCEPTD', 'a_b@c', 'ACCEPTED'],
    ['no state', 'id:5 err:000', '5', 'UNKNOWN'],
    ['an unknown state', 'id:5 stat:WOBBLED', '5', 'UNKNOWN'],
  ] as const)('reads %s', ([, text, id, state]) => {
    expect(readReceipt(deliver(text))).toMatchObject({ carrierIds: [id], state });
  });

  test.each([
    FULL,
    'id:7-a_3 sub:001 dlvrd:000 submit date:2611201529 done date:20261120153011 stat:UNDELIV err:01B',
    'id:1 sub:001 dlvrd:001 submit date:2611201529 done date:2611201530 stat:DELIVRD err:000 text:id:2 stat:EXPIRED',
  ])('reads the same fields from the standard layout and any other: %s', (text) => {
    const { raw, ...fields } = readReceipt(deliver(text)) ?? {};
    expect(raw).toBe(stored(text));
    expect(readReceipt(deliver(` ${text}`))).toEqual({ ...fields, raw: stored(` ${text}`) });
  });

  test('does not take fields out of the quoted message', () => {
    const receipt = readReceipt(deliver('id:5 stat:UNDELIV text:err:9 done date:2611201530'));
    expect(receipt).toMatchObject({ state: 'UNDELIVERABLE', errorCode: null, doneAt: null });
    expect(readReceipt(deliver('id:5 text:id:6 stat:DELIVRD'))).toMatchObject({ state: 'UNKNOWN' });
  });

  test('reads fields after an empty quote', () => {
    expect(readReceipt(deliver('text: id:5 stat:DELIVRD'))).toMatchObject({ carrierIds: ['5'], state: 'DELIVERED' });
  });

  test.for([
    [0, 'ACCEPTED'],
    [1, 'ACCEPTED'],
    [2, 'DELIVERED'],
    [3, 'EXPIRED'],
    [4, 'DELETED'],
    [5, 'UNDELIVERABLE'],
    [6, 'ACCEPTED'],
    [7, 'UNKNOWN'],
    [8, 'REJECTED'],
    [9, 'REJECTED'],
    [200, 'UNKNOWN'],
  ] as const)('message_state %i is %s', ([code, state]) => {
    expect(readReceipt(deliver('', { tlvs: parameters('1', code) }))?.state).toBe(state);
  });

  test.for([
    ['DELIVRD', 'DELIVERED'],
    ['delivered', 'DELIVERED'],
    ['DELIVER', 'DELIVERED'],
    ['ACKED', 'DELIVERED'],
    ['UNDELIVERED', 'UNDELIVERABLE'],
    ['REJECTED', 'REJECTED'],
    ['SKIPPED', 'REJECTED'],
    ['ENROUTE', 'ACCEPTED'],
    ['BUFFRED', 'ACCEPTED'],
    ['BUFFERD', 'ACCEPTED'],
    ['SCHEDUL', 'ACCEPTED'],
    ['UNKNOWN', 'UNKNOWN'],
  ] as const)('stat:%s is %s', ([word, state]) => {
    expect(readReceipt(deliver(`id:1 stat:${word}`))?.state).toBe(state);
  });

  test('treats ACCEPTED as a delivery only when the settings say so', () => {
    const options = { acceptedMeansDelivered: true };
    expect(readReceipt(deliver('id:1 stat:ACCEPTD'), options)?.state).toBe('DELIVERED');
    expect(readReceipt(deliver('', { tlvs: parameters('1', 6) }), options)?.state).toBe('DELIVERED');
    expect(readReceipt(deliver('id:1 stat:ENROUTE'), options)?.state).toBe('ACCEPTED');
    expect(readReceipt(deliver('id:1 stat:ACCEPTD', { tlvs: parameters('1', 5) }), options)?.state).toBe(
      'UNDELIVERABLE',
    );
  });

  test.for([
    ['2611201530', '2026-11-20T15:30:00Z'],
    ['261120153059', '2026-11-20T15:30:59Z'],
    ['202611201530', '2026-11-20T15:30:00Z'],
    ['20261120153059', '2026-11-20T15:30:59Z'],
  ] as const)('reads the done date %s', ([date, instant]) => {
    expect(readReceipt(deliver(`id:1 stat:DELIVRD done date:${date}`))?.doneAt).toEqual(new Date(instant));
  });

  test.for(['0000000000', '2613201530', '26112015', 'soon'])('has no date when it is unreadable: %s', (date) => {
    expect(readReceipt(deliver(`id:1 stat:DELIVRD done date:${date}`))?.doneAt).toBeNull();
  });

  test("subtracts the offset of the carrier's clock from the date", () => {
    const receipt = readReceipt(deliver(FULL), { dlrOffsetMinutes: 120 });
    expect(receipt?.doneAt).toEqual(new Date('2026-11-20T13:30:00Z'));
  });

  test('returns the number of the handset without a plus sign', () => {
    expect(readReceipt(deliver(FULL, { source: '+351912345678' }))?.destination).toBe('351912345678');
  });

  test('is null without an id, or with one that no carrier can have given', () => {
    expect(readReceipt(deliver('stat:DELIVRD err:000'))).toBeNull();
    expect(readReceipt(deliver(''))).toBeNull();
    expect(readReceipt(deliver(`id:${'7'.repeat(66)} stat:DELIVRD`))).toBeNull();
  });

  test('returns a receipt with an id, or null, for any message', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const receipt = readReceipt(message);
        expect(receipt === null || receipt.carrierIds.length > 0).toBe(true);
        expect(typeof isReceipt(message, true)).toBe('boolean');
      }),
      { numRuns: 1000 },
    );
  });

  test('returns a receipt with the right id whatever the rest of its text is', () => {
    fc.assert(
      fc.property(fc.nat({ max: FULL.length - 15 }), fc.integer({ min: 0, max: 255 }), (at, octet) => {
        const octets = Buffer.from(FULL, 'latin1');
        octets[at + 14] = octet;
        const receipt = readReceipt(deliver('', { shortMessage: octets }));
        expect(receipt?.carrierIds[0]).toBe('0000032675');
        if (receipt?.doneAt) expect(Number.isNaN(receipt.doneAt.getTime())).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('receiptText', () => {
  const receipt = {
    id: '0000032675',
    submittedAt: new Date('2026-11-20T15:29:00Z'),
    doneAt: new Date('2026-11-20T15:30:00Z'),
    stat: 'UNDELIV',
    err: '011',
    text: 'Hello, this is a longer text',
  };

  test('writes the fields of the standard', () => {
    expect(receiptText(receipt)).toBe(
      'id:0000032675 sub:001 dlvrd:000 submit date:2611201529 done date:2611201530 ' +
        'stat:UNDELIV err:011 text:Hello, this is a lon',
    );
    expect(receiptText({ ...receipt, stat: 'DELIVRD' })).toContain(' dlvrd:001 ');
  });

  test('is read back with the same fields', () => {
    expect(readReceipt(deliver(receiptText(receipt)))).toMatchObject({
      carrierIds: [receipt.id],
      state: 'UNDELIVERABLE',
      doneAt: receipt.doneAt,
      errorCode: receipt.err,
    });
  });
});

describe('spellings', () => {
  test('begin with the id itself, without leading zeros and in upper case', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 65, size: 'max' }), (id) => {
        expect(spellings(id)[0]).toBe(bareId(id));
      }),
    );
  });

  test.for([
    ['7fa3', '7FA3'],
    ['7FA3', '7fa3'],
    ['00007FA3', '7FA3'],
    ['7FA3', '00007fa3'],
    ['7FA3', '32675'],
    ['00007FA3', '0000032675'],
    ['32675', '7FA3'],
    ['0000032675', '7fa3'],
    ['0000032675', '00007fa3'],
    ['32675', '0000032675'],
    ['32675', '0000000000007FA3'],
    ['00000000000000007fa3', '32675'],
  ] as const)('of %s include %s', ([receipt, stored]) => {
    expect(spellings(receipt)).toContain(bareId(stored));
  });

  test('of an id are distinct, and three at most', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: 1, maxLength: 65, size: 'max' }),
        (id) => {
          const all = spellings(id);
          expect(new Set(all).size).toBe(all.length);
          expect(all.length).toBeLessThanOrEqual(3);
        },
      ),
    );
  });

  test('of an id of 65 digits convert without loss, as does one beyond 63 bits', () => {
    expect(spellings('f'.repeat(65))).toContain((2n ** 260n - 1n).toString());
    expect(spellings('18446744073709551615')).toContain('FFFFFFFFFFFFFFFF');
  });

  test('of an id that is not a number are just one', () => {
    expect(spellings('0190-aF')).toEqual(['190-AF']);
    expect(spellings('0')).toEqual(['']);
    expect(spellings('')).toEqual(['']);
    expect(spellings('straße')).toEqual(['STRAßE']);
  });
});
