// GSM 03.38 with one septet per octet, as SMPP carries it (SMPP 3.4, 5.2.19): never packed.

/** The characters of codes 0x00 to 0x7F. The escape at 0x1B represents no character. */
const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅå' +
  'Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ' +
  ' !"#¤%&\'()*+,-./' +
  '0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNO' +
  'PQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmno' +
  'pqrstuvwxyzäöñüà';

const ESCAPE = 0x1b;

type Table = ReadonlyMap<number, string>;

/** The extension characters, by the code that follows the escape. */
const EXTENSION: Table = new Map([
  [0x0a, '\f'],
  [0x14, '^'],
  [0x28, '{'],
  [0x29, '}'],
  [0x2f, '\\'],
  [0x3c, '['],
  [0x3d, '~'],
  [0x3e, ']'],
  [0x40, '|'],
  [0x65, '€'],
]);

const ABSENT = 0xffff;
const EXTENDED = 0x100;

/**
 * Codes by UTF-16 unit: the septet, the septet + 0x100 when it follows an escape, or ABSENT. One lookup per character.
 */
const CODES = buildCodes();

function buildCodes(): Uint16Array {
  const codes = new Uint16Array(0x10000).fill(ABSENT);
  for (let septet = 0; septet < BASIC.length; septet += 1) codes[BASIC.charCodeAt(septet)] = septet;
  for (const [septet, character] of EXTENSION) codes[character.charCodeAt(0)] = EXTENDED + septet;
  codes[ESCAPE] = ABSENT;
  return codes;
}

function codeAt(text: string, index: number): number {
  return CODES[text.charCodeAt(index)] ?? ABSENT;
}

/** Counts the septets of a text, two per extension character; returns -1 if a character is not in the alphabet. */
export function countSeptets(text: string): number {
  let septets = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = codeAt(text, index);
    if (code === ABSENT) return -1;
    if (code >= EXTENDED) septets += 1;
  }
  return septets;
}

/** Returns the end of a part of at most `limit` septets that begins at `start`; an escape stays with its character. */
export function septetCut(text: string, start: number, limit: number): number {
  let septets = 0;
  let end = start;
  while (end < text.length) {
    septets += codeAt(text, end) >= EXTENDED ? 2 : 1;
    if (septets > limit) break;
    end += 1;
  }
  return end;
}

/** Encodes a text for which `countSeptets` did not return -1. */
export function encodeGsm7(text: string): Uint8Array {
  const octets = Buffer.allocUnsafe(countSeptets(text));
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = codeAt(text, index);
    if (code >= EXTENDED) octets[length++] = ESCAPE;
    octets[length++] = code & 0x7f;
  }
  return octets;
}

/** The numbers of the national language tables that a user data header names (TS 23.038, table 6.2.1.2.4.1). */
export type Language = { readonly single?: number | undefined; readonly locking?: number | undefined };

/** A table with other characters at some of its codes. */
const withCharacters = (base: Table, codes: string, characters: string): Table =>
  new Map([
    ...base,
    ...Array.from(characters, (c, i) => [Number.parseInt(codes.slice(2 * i, 2 * i + 2), 16), c] as const),
  ]);

const NO_LANGUAGE = 0;
const TURKISH = 1;
const SPANISH = 2;
const PORTUGUESE = 3;

/** The extension characters by the language of the single shift (TS 23.038, annexes A.2.1 to A.2.3). */
const SINGLE_SHIFTS: ReadonlyMap<number, Table> = new Map([
  [NO_LANGUAGE, EXTENSION],
  [TURKISH, withCharacters(EXTENSION, '47495363676973', 'ĞİŞçğış')],
  [SPANISH, withCharacters(EXTENSION, '0941494f5561696f75', 'çÁÍÓÚáíóú')],
  [
    PORTUGUESE,
    withCharacters(EXTENSION, '05090b0c0e0f121315161718191f41494f555b5c61696f757b7c7f', 'êçÔôÁáΦΓΩΠΨΣΘÊÀÍÓÚÃÕÂíóúãõâ'),
  ],
]);

const DEFAULT: Table = new Map(Array.from(BASIC, (character, code) => [code, character]));

/** The basic characters by the language of the locking shift (TS 23.038, annexes A.3.1 and A.3.3; Spanish has none). */
const LOCKING_SHIFTS: ReadonlyMap<number, Table> = new Map([
  [NO_LANGUAGE, DEFAULT],
  [TURKISH, withCharacters(DEFAULT, '04070b0c1c1d4060', '€ıĞğŞşİç')],
  [SPANISH, DEFAULT],
  [
    PORTUGUESE,
    withCharacters(
      DEFAULT,
      '0405060708090b0c0e0f1213141516171819' + '1a1c1d1e24405b5c5d5e5f607b7c7d7e7f',
      'êéúíóçÔôÁáªÇÀ∞^\\€Ó' + '|ÂâÊºÍÃÕÚÜ§~ãõ`üà',
    ),
  ],
]);

/** Replaces the characters of tables that we do not have: another letter in their place would look right. */
const UNREADABLE = '\ufffd';

/**
 * Decodes unpacked octets. An unknown escape sequence yields the basic character of its code, and an escape at the end
 * yields nothing, two escapes a space; octets above 0x7F, which the alphabet does not define, are read as Latin-1. Characters of a national
 * language other than Turkish, Spanish and Portuguese are replaced by U+FFFD.
 */
export function decodeGsm7(octets: Uint8Array, { single = NO_LANGUAGE, locking = NO_LANGUAGE }: Language = {}): string {
  const basic = LOCKING_SHIFTS.get(locking);
  const extension = SINGLE_SHIFTS.get(single);
  const basicCharacter = (octet: number): string =>
    basic === undefined ? UNREADABLE : (basic.get(octet) ?? String.fromCharCode(octet));
  const extensionCharacter = (octet: number | undefined): string => {
    if (octet === undefined) return '';
    if (octet === ESCAPE) return ' ';
    return extension === undefined ? UNREADABLE : (extension.get(octet) ?? basicCharacter(octet));
  };
  let text = '';
  for (let index = 0; index < octets.length; index += 1) {
    const octet = octets[index] ?? 0;
    text += octet === ESCAPE ? extensionCharacter(octets[++index]) : basicCharacter(octet);
  }
  return text;
}
