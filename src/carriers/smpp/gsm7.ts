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

/** The extension characters, by the code that follows the escape. */
const EXTENSION: ReadonlyMap<number, string> = new Map([
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

/**
 * Decodes unpacked octets. An unknown escape sequence yields the basic character of its code, and an escape at the end
 * yields nothing; octets above 0x7F, which the alphabet does not define, are read as Latin-1.
 */
export function decodeGsm7(octets: Uint8Array): string {
  let text = '';
  for (let index = 0; index < octets.length; index += 1) {
    const octet = octets[index] ?? 0;
    text += octet === ESCAPE ? extensionCharacter(octets[++index]) : basicCharacter(octet);
  }
  return text;
}

function basicCharacter(octet: number): string {
  return BASIC[octet] ?? String.fromCharCode(octet);
}

function extensionCharacter(octet: number | undefined): string {
  if (octet === undefined || octet === ESCAPE) return '';
  return EXTENSION.get(octet) ?? basicCharacter(octet);
}
