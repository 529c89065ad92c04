import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  concatOf,
  countParts,
  type DefaultAlphabet,
  decodeText,
  encodeText,
  readUdh,
  type TextOptions,
  textOf,
  udhConcat,
  userData,
} from './text.ts';
import { NO_TLVS, TAG, uint8, uint16 } from './wire.ts';

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex');
const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const lengths = (body: string, options: TextOptions = {}): number[] =>
  encodeText(body, options).parts.map((part) => part.length);

/** The alphabet written out by hand from the standard, independent of the table in the code. */
const GSM_BASIC = `@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà`;
const GSM_EXTENSION = '\f^{}\\[~]|€';

const gsmText = fc.string({ unit: fc.constantFrom(...GSM_BASIC, ...GSM_EXTENSION), maxLength: 700, size: 'max' });
const anyText = fc.oneof(
  gsmText,
  fc.string({ unit: 'binary', maxLength: 400, size: 'max' }),
  fc.string({ maxLength: 400, size: 'max' }),
);
const anyOptions: fc.Arbitrary<TextOptions> = fc.record({
  longMode: fc.constantFrom('udh8', 'udh16', 'sar', 'payload'),
  defaultAlphabet: fc.constantFrom('gsm', 'latin1', 'ascii'),
});

describe('the choice of the alphabet', () => {
  test('every character of GSM 03.38 is encoded in it, extension characters as two octets', () => {
    for (const character of GSM_BASIC) expect(encodeText(character)).toMatchObject({ alphabet: 'gsm7', units: 1 });
    for (const character of GSM_EXTENSION) {
      expect(encodeText(character)).toMatchObject({ alphabet: 'gsm7', units: 2, dataCoding: 0 });
    }
  });

  test.for(['ç', '`', 'á', 'ã', 'ő', '😀', '\u001b', '中'])('a text with %j goes out as UCS-2', (character) => {
    expect(encodeText(`abc ${character}`)).toMatchObject({ alphabet: 'ucs2', dataCoding: 8 });
  });

  test('the octets are those of the standard', () => {
    expect(hex(encodeText('Hello €').parts[0] ?? new Uint8Array())).toBe('48656c6c6f201b65');
    expect(hex(encodeText('@£Δ{à').parts[0] ?? new Uint8Array())).toBe('0001101b287f');
    expect(hex(encodeText('Olá').parts[0] ?? new Uint8Array())).toBe('004f006c00e1');
  });

  test('a carrier whose default alphabet is Latin-1 gets Latin-1, or UCS-2 when it lacks a character', () => {
    expect(hex(encodeText('@[é', { defaultAlphabet: 'latin1' }).parts[0] ?? new Uint8Array())).toBe('405be9');
    expect(encodeText('é', { defaultAlphabet: 'ascii' })).toMatchObject({ alphabet: 'ucs2' });
    expect(encodeText('€', { defaultAlphabet: 'latin1' })).toMatchObject({ alphabet: 'ucs2' });
  });

  test('a carrier that requires its own data_coding for GSM text gets it only there', () => {
    expect(encodeText('abc', { gsmDataCoding: 0xf1 }).dataCoding).toBe(0xf1);
    expect(encodeText('中', { gsmDataCoding: 0xf1 }).dataCoding).toBe(8);
  });
});

describe('splitting', () => {
  test.for([
    ['an empty text is one empty part', '', [0]],
    ['160 septets are one part', 'a'.repeat(160), [160]],
    ['161 septets are 153 and 8', 'a'.repeat(161), [153, 8]],
    ['160 characters with a euro sign are 161 septets', `${'a'.repeat(159)}€`, [153, 8]],
    ['an escape at septet 153 goes to the next part', `${'a'.repeat(152)}€${'a'.repeat(20)}`, [152, 22]],
    ['an escape at septets 152 and 153 stays', `${'a'.repeat(151)}€${'a'.repeat(20)}`, [153, 20]],
    ['70 units are one part', 'ç'.repeat(70), [140]],
    ['71 units are 67 and 4', 'ç'.repeat(71), [134, 8]],
    ['a surrogate pair at unit 67 goes to the next part', `${'ç'.repeat(66)}😀${'ç'.repeat(5)}`, [132, 14]],
  ] as const)('%s', ([, body, expected]) => {
    expect(lengths(body)).toEqual(expected);
  });

  test('a 16-bit reference leaves 152 septets or 66 units', () => {
    expect(lengths('a'.repeat(161), { longMode: 'udh16' })).toEqual([152, 9]);
    expect(lengths('ç'.repeat(71), { longMode: 'udh16' })).toEqual([132, 10]);
  });

  test('a payload is one part of octets, and counts as many messages as without it', () => {
    expect(lengths('a'.repeat(400), { longMode: 'payload' })).toEqual([400]);
    expect(countParts('a'.repeat(400), { longMode: 'payload' }).parts).toBe(3);
  });

  test('the joined parts are the text, and none exceeds the limit of its alphabet', () => {
    fc.assert(
      fc.property(anyText, anyOptions, (body, options) => {
        const { parts, dataCoding, alphabet } = encodeText(body, options);
        const alphabetOfDefault = options.defaultAlphabet ?? 'gsm';
        const texts = parts.map((part) => decodeText(part, dataCoding, alphabetOfDefault));
        expect(texts.join('')).toBe(body.replaceAll('\0', ''));
        if (options.longMode === 'payload') return;
        expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(alphabet === 'gsm7' ? 160 : 140);
      }),
      { numRuns: 1000 },
    );
  });

  test('no part begins in the middle of a surrogate pair or ends with an escape', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '€', '{'), minLength: 300, maxLength: 600, size: 'max' }),
        (body) => {
          for (const part of encodeText(body).parts) expect(part.at(-1)).not.toBe(0x1b);
        },
      ),
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('ç', '😀'), minLength: 100, maxLength: 300, size: 'max' }),
        (body) => {
          for (const part of encodeText(body).parts) expect((part[0] ?? 0) & 0xfc).not.toBe(0xdc);
        },
      ),
    );
  });

  test('countParts counts what encodeText builds', () => {
    fc.assert(
      fc.property(anyText, anyOptions, (body, options) => {
        const encoded = encodeText(body, options);
        const counted = countParts(body, options);
        expect([counted.alphabet, counted.units]).toEqual([encoded.alphabet, encoded.units]);
        if (options.longMode !== 'payload') expect(counted.parts).toBe(encoded.parts.length);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('decodeText', () => {
  test.for([
    ['GSM by default', '48656c6c6f201b65', 0x00, 'Hello €'],
    ['an unknown escape as its basic character', '411b41', 0x00, 'AA'],
    ['an escape at the end as nothing', '411b', 0x00, 'A'],
    ['two escapes as a space, until a second table exists', '411b1b41', 0x00, 'A A'],
    ['a flash message', '41', 0xf0, 'A'],
    ['class 1 of the other group', '00', 0x11, '@'],
    ['ASCII', '4041', 0x01, '@A'],
    ['Latin-1', 'e9', 0x03, 'é'],
    ['UCS-2', '004f006c00e1', 0x08, 'Olá'],
    ['UCS-2 with an emoji', 'd83dde00', 0x08, '😀'],
    ['UCS-2 with an octet left over', '004f00', 0x08, 'O'],
    ['a flash message in UCS-2', '4e2d', 0x18, '中'],
    ['UCS-2 after its byte order mark', 'feff00430049', 0x08, 'CI'],
    ['UCS-2 in the order of its mark', 'fffe4300690061006f00', 0x08, 'Ciao'],
    ['8-bit data octet by octet', 'ff41', 0x04, 'ÿA'],
    ['Cyrillic', 'bfe0d8d2d5e2', 0x06, 'Привет'],
    ['a NUL as nothing', '0041000000420000', 0x08, 'AB'],
  ] as const)('reads %s', ([, octets, dataCoding, text]) => {
    expect(decodeText(bytes(octets), dataCoding, 'gsm')).toBe(text);
  });

  test.each([
    ['Turkish', '03240101', '1b471b491b531b631b651b671b691b73', 'ĞİŞç€ğış'],
    ['Turkish, locked', '03250101', '04070b0c1c1d4060', '€ıĞğŞşİç'],
    ['Spanish', '03240102', '1b091b411b491b4f1b551b611b651b691b6f1b75', 'çÁÍÓÚá€íóú'],
    ['Spanish, locked, which has no table', '03250102', '4069', '¡i'],
    ['Portuguese', '03240103', '1b051b0b1b121b1f1b411b5b1b611b651b7f', 'êÔΦÊÀÃÂ€â'],
    ['Portuguese, locked', '03250103', '0410121517191a24405d60' + '7b7d7f', 'êΔª∞\\Ó|ºÍÚ~ã`à'],
    ['Bengali', '03240104', '411b42', 'A\ufffd'],
    ['Bengali, locked', '03250104', '4142', '\ufffd\ufffd'],
    ['an escape without a character in the table', '03240101', '1b42', 'B'],
  ])('reads the national language tables: %s', (_, udh, octets, text) => {
    const shortMessage = bytes(udh + octets);
    expect(textOf({ esmClass: 0x40, dataCoding: 0, shortMessage, tlvs: NO_TLVS }, 'gsm')).toBe(text);
  });

  test('reads data_coding 0 in the alphabet of the carrier', () => {
    expect(decodeText(bytes('40e9'), 0, 'latin1')).toBe('@é');
    expect(decodeText(bytes('c3a9'), 0, 'utf8')).toBe('é');
    expect(decodeText(bytes('00'), 0, 'gsm')).toBe('@');
  });

  test('returns a text without NULs for any octets with any data_coding', () => {
    const alphabet = fc.constantFrom<DefaultAlphabet>('gsm', 'latin1', 'ascii', 'utf8');
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60, size: 'max' }),
        fc.integer({ min: 0, max: 255 }),
        alphabet,
        (octets, dataCoding, byDefault) => {
          const before = hex(octets);
          expect(decodeText(octets, dataCoding, byDefault)).not.toContain('\0');
          expect(hex(octets)).toBe(before);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('the user data header', () => {
  const content = { esmClass: 0, dataCoding: 0, shortMessage: new Uint8Array(), tlvs: NO_TLVS };
  const withUdh = (octets: string) => ({ ...content, esmClass: 0x40, shortMessage: bytes(octets) });

  test('of a part is that of the standard, with an octet or two for the reference', () => {
    expect(hex(udhConcat(0x5c, 2, 1, 8))).toBe('0500035c0201');
    expect(hex(udhConcat(0x1234, 2, 1, 16))).toBe('06080412340201');
    const octets = Buffer.concat([udhConcat(0x5c, 2, 1, 8), encodeText('Olá').parts[0] ?? new Uint8Array()]);
    expect(octets.toString('hex')).toBe('0500035c0201004f006c00e1');
    expect(octets).toHaveLength(0x0c);
  });

  test('keeps as many bits of a reference as fit', () => {
    expect(hex(udhConcat(0x1ff, 2, 1, 8))).toBe('050003ff0201');
    expect(hex(udhConcat(0x1ffff, 2, 1, 16))).toBe('060804ffff0201');
  });

  test('cannot count above 255 parts', () => {
    expect(() => udhConcat(1, 256, 1, 8)).toThrow(RangeError);
    expect(() => udhConcat(1, 2, 3, 8)).toThrow(RangeError);
  });

  test('is found after other elements, in both widths, and in the parameters', () => {
    expect(concatOf(withUdh('0b 0504 0b8423f0 0003 2a0302 41'))).toEqual({ ref: 0x2a, total: 3, seq: 2 });
    expect(concatOf(withUdh('06 0804 12340201 41'))).toEqual({ ref: 0x1234, total: 2, seq: 1 });
    const tlvs = new Map([
      [TAG.sar_msg_ref_num, uint16(0x1234)],
      [TAG.sar_total_segments, uint8(4)],
      [TAG.sar_segment_seqnum, uint8(4)],
    ]);
    expect(concatOf({ ...content, tlvs })).toEqual({ ref: 0x1234, total: 4, seq: 4 });
  });

  test.for([
    ['says part 0', '05 0003 2a0300 41'],
    ['says part 4 of 3', '05 0003 2a0304 41'],
    ['says part 1 of 1', '05 0003 2a0101 41'],
    ['is longer than the message', '20 0003 2a0301'],
    ['has an element longer than itself', '05 0009 2a0301 41'],
    ['has half an element', '01 00 41'],
    ['has other elements only', '04 2402 0103 41'],
  ] as const)('makes no part of a message when it %s', ([, octets]) => {
    expect(concatOf(withUdh(octets))).toBeNull();
  });

  test('is ignored when the message does not say that it has one', () => {
    const message = { ...content, shortMessage: bytes('050003 5c0201 41') };
    expect(concatOf(message)).toBeNull();
    expect(textOf(message, 'ascii')).toHaveLength(6);
  });

  test('is not part of the text, which may also be in the payload', () => {
    expect(textOf(withUdh('050003 5c0201 414243'), 'gsm')).toBe('ABC');
    const payload = bytes('050003 5c0201 004f');
    const message = { ...content, esmClass: 0x40, dataCoding: 8, tlvs: new Map([[TAG.message_payload, payload]]) };
    expect(textOf(message, 'gsm')).toBe('O');
    expect(hex(userData(message))).toBe(hex(payload));
    expect(concatOf(message)).toEqual({ ref: 0x5c, total: 2, seq: 1 });
  });

  test('read from any octets is null or lies within them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40, size: 'max' }), (octets) => {
        const udh = readUdh(octets);
        if (!udh) return;
        expect(udh.length).toBeLessThanOrEqual(Math.max(octets.length, 1));
        expect(udh.ies.reduce((sum, { data }) => sum + 2 + data.length, 1)).toBe(udh.length);
      }),
      { numRuns: 3000 },
    );
  });
});
