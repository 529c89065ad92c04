import { countSeptets, decodeGsm7, encodeGsm7, type Language, septetCut } from './gsm.ts';
import type { Message } from './message.ts';
import { STATUS } from './status.ts';
import { latin1, readUint, TAG } from './wire.ts';

/** The alphabet that a carrier uses for data_coding 0. */
export type DefaultAlphabet = 'gsm' | 'latin1' | 'ascii' | 'utf8';

/** Method of sending a text that does not fit one message (GSM 03.40, 9.2.3.24). */
export type LongMode = 'udh8' | 'udh16' | 'sar' | 'payload';

/** Encoding rules that differ between carriers. */
export type TextOptions = {
  /** Default `udh8`. `payload` leaves the splitting to the carrier: one part, with parts counted as for `udh8`. */
  readonly longMode?: LongMode;
  /** Default `gsm`. With another alphabet, GSM texts that it can represent are sent in it, and all others as UCS-2. */
  readonly defaultAlphabet?: DefaultAlphabet;
  /** The data_coding of texts that are not UCS-2; default 0, some carriers require 0xF1. */
  readonly gsmDataCoding?: number;
};

/** The length of a text, in units and in parts. */
type PartCount = {
  readonly alphabet: 'gsm7' | 'ucs2';
  /** Septets (two per extension character) or UTF-16 units of the whole text. */
  readonly units: number;
  /** The number of messages over the air: at least 1. */
  readonly parts: number;
};

/** A text in octets, split into parts. */
export type EncodedText = {
  readonly alphabet: 'gsm7' | 'ucs2';
  readonly dataCoding: number;
  readonly units: number;
  /** The octets of each part without the user data header; one empty part for an empty text. */
  readonly parts: readonly Uint8Array[];
};

const UCS2 = 8;
/** Maximum octets of the user data of one message. */
const MAX_OCTETS = 140;

/** Maximum units of a single message, and of a part next to a header of 6 or 7 octets. */
export const LIMITS = {
  gsm7: { single: 160, udh8: 153, udh16: 152, sar: 153, payload: 153 },
  ucs2: { single: 70, udh8: 67, udh16: 66, sar: 67, payload: 67 },
} as const;

/**
 * Returns alphabet, units and parts of a text as `encodeText` would send it with the same options, without encoding it:
 * a million short texts per second. The alphabet is GSM 03.38 if it has every character, else UCS-2.
 */
export function countParts(body: string, options: TextOptions = {}): PartCount {
  const septets = septetsIn(body, options.defaultAlphabet ?? 'gsm');
  const alphabet = septets < 0 ? 'ucs2' : 'gsm7';
  const units = septets < 0 ? body.length : septets;
  const limits = LIMITS[alphabet];
  if (units <= limits.single) return { alphabet, units, parts: 1 };
  const limit = limits[options.longMode ?? 'udh8'];
  let parts = 0;
  for (let start = 0; start < body.length; start = cut(body, start, alphabet, limit)) parts += 1;
  return { alphabet, units, parts };
}

/** Free space in the last part of a text. */
type LastPartRoom = {
  /** The units that fit in one part of a text with this number of parts. */
  readonly perPart: number;
  /** The units that still fit before the text needs another part. */
  readonly remaining: number;
};

/** Returns the free space in the last part of a text as `encodeText` splits it without options. */
export function lastPartRoom(body: string): LastPartRoom {
  const { alphabet, parts } = countParts(body);
  const perPart = parts === 1 ? LIMITS[alphabet].single : LIMITS[alphabet].udh8;
  const last = parts === 1 ? body : (pieces(body, alphabet, perPart).at(-1) ?? '');
  return { perPart, remaining: perPart - (alphabet === 'gsm7' ? countSeptets(last) : last.length) };
}

/** Returns the characters of a text that are not in GSM 03.38, each once: they force UCS-2. */
export const nonGsmCharacters = (body: string): string[] =>
  [...new Set(body)].filter((character) => countSeptets(character) < 0);

/**
 * Encodes a text, in several parts if it is longer than one message. No part ends inside an escape pair or a surrogate
 * pair. The caller limits the number of parts (a header can count to 255) and adds the header to each. `group` is a
 * data_coding whose class or message waiting the text has.
 */
export function encodeText(body: string, options: TextOptions = {}, group?: number): EncodedText {
  const { longMode = 'udh8', defaultAlphabet = 'gsm' } = options;
  const { alphabet, units } = countParts(body, options);
  const limits = LIMITS[alphabet];
  const whole = units <= limits.single || longMode === 'payload';
  const texts = whole ? [body] : pieces(body, alphabet, limits[longMode]);
  const parts = texts.map((text) => encodePiece(text, alphabet, defaultAlphabet));
  const dataCoding = alphabet === 'ucs2' ? UCS2 : (options.gsmDataCoding ?? 0);
  return { alphabet, dataCoding: group === undefined ? dataCoding : codingInGroup(group, alphabet), units, parts };
}

/** Returns -1 if the text cannot be sent with data_coding 0. */
function septetsIn(body: string, defaultAlphabet: DefaultAlphabet): number {
  const septets = countSeptets(body);
  if (septets < 0 || defaultAlphabet === 'gsm') return septets;
  const highest = defaultAlphabet === 'latin1' ? 0xff : 0x7f;
  for (let index = 0; index < body.length; index += 1) if (body.charCodeAt(index) > highest) return -1;
  return septets;
}

function encodePiece(text: string, alphabet: 'gsm7' | 'ucs2', defaultAlphabet: DefaultAlphabet): Uint8Array {
  if (alphabet === 'ucs2') return Buffer.from(text, 'utf16le').swap16();
  return defaultAlphabet === 'gsm' ? encodeGsm7(text) : Buffer.from(text, defaultAlphabet);
}

function pieces(body: string, alphabet: 'gsm7' | 'ucs2', limit: number): string[] {
  const texts: string[] = [];
  for (let start = 0; start < body.length; ) {
    const end = cut(body, start, alphabet, limit);
    texts.push(body.slice(start, end));
    start = end;
  }
  return texts;
}

function cut(body: string, start: number, alphabet: 'gsm7' | 'ucs2', limit: number): number {
  if (alphabet === 'gsm7') return septetCut(body, start, limit);
  const end = start + limit;
  if (end >= body.length) return body.length;
  return isHighSurrogate(body.charCodeAt(end - 1)) && isLowSurrogate(body.charCodeAt(end)) ? end - 1 : end;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The ISO 8859 and East Asian data codings that the runtime can decode. */
const CHARSETS: ReadonlyMap<number, string> = new Map([
  [0x06, 'iso-8859-5'],
  [0x07, 'iso-8859-8'],
  [0x0a, 'iso-2022-jp'],
  [0x0e, 'euc-kr'],
]);

/**
 * Decodes octets by their data_coding (SMPP 3.4, 5.2.19) and the national language tables that the header before them
 * names; never throws. 8-bit
 * data and unknown codings are read as Latin-1. Lone surrogates are kept, since a pair may be split between two parts.
 * NULs are dropped: they carry no text, and PostgreSQL cannot store them.
 */
export function decodeText(
  octets: Uint8Array,
  dataCoding: number,
  defaultAlphabet: DefaultAlphabet,
  language: Language = {},
): string {
  const text = decodeOctets(octets, dataCoding, defaultAlphabet, language);
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

function decodeOctets(
  octets: Uint8Array,
  dataCoding: number,
  defaultAlphabet: DefaultAlphabet,
  language: Language,
): string {
  const charset = CHARSETS.get(dataCoding);
  if (charset !== undefined) return new TextDecoder(charset).decode(octets);
  if (isUcs2(dataCoding)) return decodeUcs2(octets);
  if (!isDefaultAlphabet(dataCoding)) return latin1(octets);
  if (defaultAlphabet === 'gsm') return decodeGsm7(octets, language);
  return defaultAlphabet === 'utf8' ? Buffer.from(octets).toString('utf8') : latin1(octets);
}

/** UCS-2 is SMPP's own value, the class group of TS 23.038 (0x18 is a flash message), and message waiting in UCS-2. */
export function isUcs2(dataCoding: number): boolean {
  return dataCoding === UCS2 || (dataCoding & 0xfc) === 0x18 || (dataCoding & 0xf0) === 0xe0;
}

/**
 * True for 0, message class groups with a 7-bit alphabet (0x10 to 0x13, 0xF0 to 0xFB) and message waiting (0xC0 to
 * 0xDF).
 */
export function isDefaultAlphabet(dataCoding: number): boolean {
  const classed = (dataCoding & 0xfc) === 0x10 || (dataCoding & 0xf4) === 0xf0;
  return dataCoding === 0 || classed || (dataCoding >= 0xc0 && dataCoding <= 0xdf);
}

/** Reads UTF-16 in the order of its byte order mark, which is not part of the text; big-endian without one. */
export function decodeUcs2(octets: Uint8Array): string {
  const [first = 0, second = 0] = octets;
  const hasMark = (first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe);
  const units = Buffer.from(octets.subarray(hasMark ? 2 : 0, octets.length & ~1));
  return (first === 0xff && hasMark ? units : units.swap16()).toString('utf16le');
}

/**
 * Returns true if a text has properties next to its alphabet in its data_coding (TS 23.038, section 4): a class, such as
 * that of a flash message, or an indication of waiting messages.
 */
export const isInGroup = (dataCoding: number): boolean =>
  dataCoding > UCS2 && (isUcs2(dataCoding) || isDefaultAlphabet(dataCoding));

/** Returns the data_coding of a text in this alphabet with the class or the message waiting of another data_coding. */
function codingInGroup(dataCoding: number, alphabet: PartCount['alphabet']): number {
  const isClassed = dataCoding < 0xc0 || dataCoding >= 0xf0;
  if (alphabet === 'ucs2') return isClassed ? 0x18 | (dataCoding & 0x03) : 0xe0 | (dataCoding & 0x0f);
  if (!isUcs2(dataCoding)) return dataCoding;
  return isClassed ? 0x10 | (dataCoding & 0x03) : 0xd0 | (dataCoding & 0x0f);
}

const CONCAT_8 = 0x00;
const CONCAT_16 = 0x08;
const SINGLE_SHIFT = 0x24;
const LOCKING_SHIFT = 0x25;

/**
 * Builds the user data header of one part: `ref` modulo 2^bits, `total` and `seq` from 1 to 255. The result has 6
 * octets with an 8-bit reference, 7 with a 16-bit one. Throws a RangeError if `seq` or `total` is out of range.
 */
export function udhConcat(ref: number, total: number, seq: number, bits: 8 | 16): Uint8Array {
  if (total < 1 || total > 255 || seq < 1 || seq > total) throw new RangeError(`part ${seq} of ${total}`);
  if (bits === 8) return Uint8Array.of(5, CONCAT_8, 3, ref, total, seq);
  return Uint8Array.of(6, CONCAT_16, 4, ref >> 8, ref, total, seq);
}

/** A user data header with its information elements. */
type Udh = {
  readonly ies: readonly { readonly iei: number; readonly data: Uint8Array }[];
  /** Octets of the header including its length octet, which is where the text begins. */
  readonly length: number;
};

/** Reads the user data header at the start of `octets`; null if its lengths are inconsistent. */
export function readUdh(octets: Uint8Array): Udh | null {
  const length = (octets[0] ?? 0) + 1;
  if (octets.length < length) return null;
  const ies: { iei: number; data: Uint8Array }[] = [];
  let offset = 1;
  while (offset < length) {
    const [iei = 0, size = length] = octets.subarray(offset, Math.min(offset + 2, length));
    const end = offset + 2 + size;
    if (end > length) return null;
    ies.push({ iei, data: octets.subarray(offset + 2, end) });
    offset = end;
  }
  return { ies, length };
}

/** Returns the error in a client's user data header; null if there is none (TS 23.040 section 9.2.3.24). */
export function udhFault(header: Uint8Array): string | null {
  if (header[0] !== header.length - 1) return 'must begin with its length: the first octet counts the octets after it';
  const udh = readUdh(header);
  if (udh === null) return 'has an element that is longer than the header';
  return udh.ies.every(isPossibleElement) ? null : 'has a concatenation element without a possible part number';
}

function isPossibleElement({ iei, data }: Udh['ies'][number]): boolean {
  if (iei !== CONCAT_8 && iei !== CONCAT_16) return true;
  const [total = 0, seq = 0] = data.slice(-2);
  return data.length === (iei === CONCAT_8 ? 3 : 4) && seq >= 1 && seq <= total;
}

/**
 * Returns the number of units of a text that fit into one message next to a user data header, counted as in
 * `countParts`. In GSM 03.38 the text begins at a septet, so the bits that fill up the last septet of the header count
 * too.
 */
export const roomBeside = (header: Uint8Array, alphabet: PartCount['alphabet']): number =>
  Math.floor(alphabet === 'gsm7' ? ((MAX_OCTETS - header.length) * 8) / 7 : (MAX_OCTETS - header.length) / 2);

/**
 * Returns true if octets fit into one message next to a user data header: 140 octets together, or in a 7-bit alphabet,
 * which SMPP does not pack, 160 septets.
 */
export const fitOneMessage = ({ udh, data, dataCoding }: Octets): boolean =>
  data.length <= (isSeptets(dataCoding) ? roomBeside(udh, 'gsm7') : MAX_OCTETS - udh.length);

type Octets = { readonly udh: Uint8Array; readonly data: Uint8Array; readonly dataCoding?: number };

/** Returns true for octets that are septets of a text; without a data_coding they are 8-bit data. */
export const isSeptets = (dataCoding: number | undefined): boolean =>
  dataCoding !== undefined && isDefaultAlphabet(dataCoding);

type Content = Pick<Message, 'esmClass' | 'dataCoding' | 'shortMessage' | 'tlvs'>;

const UDH_INDICATOR = 0x40;

/** Returns the user data of a message: short_message, or message_payload when that is empty. */
export function userData(message: Content): Uint8Array {
  if (message.shortMessage.length > 0) return message.shortMessage;
  return message.tlvs.get(TAG.message_payload) ?? message.shortMessage;
}

/** Splits the user data of a message into its header, if esm_class indicates one, and the octets after it. */
export function splitUserData(message: Content): { readonly udh: Udh | null; readonly octets: Uint8Array } {
  const all = userData(message);
  const udh = message.esmClass & UDH_INDICATOR ? readUdh(all) : null;
  return { udh, octets: udh ? all.subarray(udh.length) : all };
}

/** Returns the text of a message, without the user data header if esm_class indicates one. */
export function textOf(message: Content, defaultAlphabet: DefaultAlphabet): string {
  const { udh, octets } = splitUserData(message);
  return decodeText(octets, message.dataCoding, defaultAlphabet, udh ? languageOf(udh) : {});
}

/** Returns the national language tables that a header names (TS 23.040, 9.2.3.24.15 and 9.2.3.24.16). */
export function languageOf({ ies }: Udh): Language {
  const table = (wanted: number): number | undefined => ies.find(({ iei }) => iei === wanted)?.data[0];
  return { single: table(SINGLE_SHIFT), locking: table(LOCKING_SHIFT) };
}

/** The position of a part in a long message. */
type Concat = { readonly ref: number; readonly total: number; readonly seq: number };

/** Reads a part's position from an 8-bit or 16-bit header or the SAR parameters; null for a message in one part. */
export function concatOf(message: Content): Concat | null {
  const udh = message.esmClass & UDH_INDICATOR ? readUdh(userData(message)) : null;
  const concat = udh ? concatInUdh(udh) : concatInTlvs(message);
  if (!concat || concat.total < 2 || concat.seq < 1 || concat.seq > concat.total) return null;
  return concat;
}

function concatInUdh(udh: Udh): Concat | null {
  for (const { iei, data } of udh.ies) {
    const [a = 0, b = 0, c = 0, d = 0] = data;
    if (iei === CONCAT_8 && data.length === 3) return { ref: a, total: b, seq: c };
    if (iei === CONCAT_16 && data.length === 4) return { ref: a * 256 + b, total: c, seq: d };
  }
  return null;
}

function concatInTlvs({ tlvs }: Content): Concat | null {
  const ref = readUint(tlvs, TAG.sar_msg_ref_num, 2);
  const total = readUint(tlvs, TAG.sar_total_segments, 1);
  const seq = readUint(tlvs, TAG.sar_segment_seqnum, 1);
  return ref === null || total === null || seq === null ? null : { ref, total, seq };
}

type Segment = Pick<Message, 'esmClass' | 'dataCoding' | 'shortMessage' | 'tlvs'>;

const UDHI = 0x40;
const MESSAGE_TYPE = 0x3c;
/** Allowed message types: default, SME delivery acknowledgement, SME user acknowledgement. */
const MESSAGE_TYPES: ReadonlySet<number> = new Set([0x00, 0x08, 0x10]);

/**
 * Validates the type of a submitted message and the position of a part: esm_class against the SAR parameters, the user
 * data header, the SAR parameters (SMPP 3.4, 5.3.2.22 to 5.3.2.24; GSM 03.40, 9.2.3.24). Returns the status of the
 * first error, or 0.
 */
export const segmentStatus = (message: Segment): number =>
  checkEsmClass(message) || checkHeader(message) || checkSar(message);

function checkEsmClass({ esmClass, tlvs }: Segment): number {
  if (!MESSAGE_TYPES.has(esmClass & MESSAGE_TYPE)) return STATUS.ESME_RINVESMCLASS;
  return esmClass & UDHI && tlvs.has(TAG.sar_msg_ref_num) ? STATUS.ESME_RINVTLVVAL : STATUS.ESME_ROK;
}

/** The user data header must be complete, and a concatenation element must have a possible part number. */
function checkHeader(message: Segment): number {
  if (!(message.esmClass & UDHI)) return STATUS.ESME_ROK;
  const header = readUdh(userData(message));
  return header?.ies.every(isValidElement) ? STATUS.ESME_ROK : STATUS.ESME_RINVESMCLASS;
}

function isValidElement({ iei, data }: { iei: number; data: Uint8Array }): boolean {
  if (iei !== CONCAT_8 && iei !== CONCAT_16) return true;
  const [total = 0, seq = 0] = data.slice(-2);
  return data.length === (iei === CONCAT_8 ? 3 : 4) && isPartNumber(total, seq);
}

const SAR_TAGS = [TAG.sar_msg_ref_num, TAG.sar_total_segments, TAG.sar_segment_seqnum];

function checkSar({ tlvs }: Segment): number {
  if (tlvs.size === 0) return STATUS.ESME_ROK;
  const present = SAR_TAGS.filter((tag) => tlvs.has(tag)).length;
  if (present === 0) return STATUS.ESME_ROK;
  if (present < SAR_TAGS.length) return STATUS.ESME_RMISSINGTLV;
  const total = readUint(tlvs, TAG.sar_total_segments, 1);
  const seq = readUint(tlvs, TAG.sar_segment_seqnum, 1);
  if (readUint(tlvs, TAG.sar_msg_ref_num, 2) === null || total === null || seq === null) return STATUS.ESME_RINVTLVLEN;
  return isPartNumber(total, seq) ? STATUS.ESME_ROK : STATUS.ESME_RINVTLVVAL;
}

function isPartNumber(total: number, seq: number): boolean {
  return total >= 1 && seq >= 1 && seq <= total;
}
