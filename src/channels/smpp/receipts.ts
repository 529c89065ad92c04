import { type Message, receiptDate, utcDate } from '../../smpp/message.ts';
import { decodeUcs2, splitUserData } from '../../smpp/text.ts';
import { latin1, readText, readUint, TAG, type Tlvs } from '../../smpp/wire.ts';
import type { Receipt, ReceiptState } from '../carrier.ts';

/** The fields of a deliver_sm (or of a data_sm, with an empty `shortMessage`) from which a receipt is read. */
export type ReceiptSource = Pick<
  Message,
  'esmClass' | 'dataCoding' | 'shortMessage' | 'tlvs' | 'source' | 'destination'
>;

/** Receipt conventions that differ between carriers. */
export type ReceiptOptions = {
  /** Minutes by which the carrier's receipt dates are ahead of UTC; default 0. */
  readonly dlrOffsetMinutes?: number;
  /** True if this carrier reports ACCEPTD as its last state; default false. */
  readonly acceptedMeansDelivered?: boolean;
};

/**
 * The message types of esm_class that are receipts: delivery receipt, delivery acknowledgement, intermediate
 * notification.
 */
const RECEIPT_TYPES: readonly number[] = [0x04, 0x08, 0x20];
const TYPE_BITS = 0x3c;
/** The beginning of a receipt with at least one field besides: people write of ids and states, too. */
const LOOKS_LIKE_RECEIPT = /^\s*id:\S(?=.*\bstat:)(?=.*(?:\b(?:sub|dlvrd|err):|\bdone[ _]?date:))/is;

/**
 * Returns true if a message from the carrier is a receipt (SMPP 3.4, 5.2.12). With `dlrWithoutEsmClass` a message that
 * only looks like a receipt counts too: it names a receipted message and its state, or its text begins with an id and
 * holds a state. The id alone is no sign: some carriers give it to inbound messages.
 */
export function isReceipt(message: ReceiptSource, dlrWithoutEsmClass: boolean): boolean {
  const type = message.esmClass & TYPE_BITS;
  if (RECEIPT_TYPES.includes(type)) return true;
  if (type !== 0 || !dlrWithoutEsmClass) return false;
  const isNamed = message.tlvs.has(TAG.receipted_message_id) && message.tlvs.has(TAG.message_state);
  return isNamed || LOOKS_LIKE_RECEIPT.test(receiptBody(message));
}

/**
 * Reads the receipt in a message: parameters take precedence over the text, whose fields may be in any order and case
 * and may be missing (SMPP 3.4, appendix B and 5.2.28). An unrecognised state is UNKNOWN. Returns null without
 * an id.
 */
export function readReceipt(message: ReceiptSource, options: ReceiptOptions = {}): Receipt | null {
  const raw = receiptBody(message);
  const fields = standardFields(raw) ?? fieldsIn(raw);
  const carrierIds = idsIn(message.tlvs, fields.id);
  if (carrierIds.length === 0) return null;
  return {
    carrierIds,
    state: stateIn(message.tlvs, fields.stat, options),
    doneAt: fields.done === null ? null : doneDate(fields.done, options.dlrOffsetMinutes ?? 0),
    errorCode: errorIn(fields.err) ?? errorIn(networkError(message.tlvs)),
    destination: message.source.startsWith('+') ? message.source.slice(1) : message.source,
    sender: message.destination,
    raw: raw === '' ? tlvsAsText(message.tlvs) : withoutQuote(raw),
  };
}

/**
 * Returns the text of a receipt. Receipts are ASCII whatever the carrier's default alphabet is (an underscore in an id
 * stays an underscore) and whatever data_coding says, which some carriers copy from the message. In UTF-16, one of the
 * first two octets is zero, or they are a byte order mark.
 */
function receiptBody(message: ReceiptSource): string {
  const { octets } = splitUserData(message);
  const [first, second] = octets;
  const isUtf16 = first === 0 || first === 0xfe || first === 0xff;
  const text = second === 0 ? Buffer.from(octets).toString('utf16le') : isUtf16 ? decodeUcs2(octets) : latin1(octets);
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

type Fields = Readonly<Record<'id' | 'stat' | 'err' | 'done', string | null>>;

/**
 * The layout in the protocol's appendix, which nearly all carriers use. One expression is three times as fast as the
 * tolerant ones below, with the same result: the fields before the state cannot contain a colon.
 */
const STANDARD =
  /^id:([\w-]+) sub:\d+ dlvrd:\d+ submit date:\d+ done date:(\d{10,14}) stat:([A-Za-z]+) err:(\w+)(?: text:|$)/i;

function standardFields(raw: string): Fields | null {
  const match = STANDARD.exec(raw);
  return match && { id: match[1] ?? null, done: match[2] ?? null, stat: match[3] ?? null, err: match[4] ?? null };
}

const ID = /(?:^|[\s,;])id\s*:\s*([^\s,;]+)/i;
const STAT = /\bstat\s*:\s*([a-z]+)/i;
const ERR = /\berr\s*:\s*(\w+)/i;
const DONE = /\bdone[\s_]*date\s*:\s*(\d{10,14})\b/i;
const TEXT = /\btext\s*:/i;

/**
 * Returns the text of a receipt as it is stored: without the beginning of the message, which carriers quote at its end and
 * in which the code of a verification may be.
 */
function withoutQuote(raw: string): string {
  const [quote] = TEXT.exec(raw) ?? [];
  return quote === undefined ? raw : raw.slice(0, raw.indexOf(quote) + quote.length);
}

/** `text:` quotes the message itself, so nothing after it may be taken for a field. */
function fieldsIn(raw: string): Fields {
  const quote = raw.search(TEXT);
  const head = quote < 0 ? raw : raw.slice(0, quote);
  const scope = ID.test(head) ? head : raw;
  const field = (pattern: RegExp): string | null => pattern.exec(scope)?.[1] ?? null;
  return { id: field(ID), stat: field(STAT), err: field(ERR), done: field(DONE) };
}

/** The protocol's limit for a message_id; a longer id matches nothing and would not fit an index. */
const MAX_ID_LENGTH = 65;

function idsIn(tlvs: Tlvs, textId: string | null): string[] {
  const named = readText(tlvs, TAG.receipted_message_id)?.trim() ?? '';
  const ids = isId(named) ? [named] : [];
  if (textId !== null && textId !== named && isId(textId)) ids.push(textId);
  return ids;
}

function isId(text: string): boolean {
  return text !== '' && text.length <= MAX_ID_LENGTH;
}

/**
 * States by message_state. Value 6, ACCEPTED, is final according to the standard, but in practice a final state follows
 * it.
 */
const STATES: readonly ReceiptState[] = [
  'ACCEPTED',
  'ACCEPTED',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'ACCEPTED',
  'UNKNOWN',
  'REJECTED',
  'REJECTED',
];
const STATE_ACCEPTED = 6;

/** States by the prefix of `stat`, since carriers pad or cut it to 7 letters: DELIVRD, DELIVERED, DELIVER. */
const STATE_PREFIXES: readonly (readonly [string, ReceiptState])[] = [
  ['DELIV', 'DELIVERED'],
  ['ACK', 'DELIVERED'],
  ['UNDELIV', 'UNDELIVERABLE'],
  ['FAIL', 'UNDELIVERABLE'],
  ['EXPIR', 'EXPIRED'],
  ['DELET', 'DELETED'],
  ['REJECT', 'REJECTED'],
  ['SKIP', 'REJECTED'],
  ['ACCEPT', 'ACCEPTED'],
  ['ENROUTE', 'ACCEPTED'],
  ['BUFF', 'ACCEPTED'],
  ['SCHED', 'ACCEPTED'],
];

function stateIn(tlvs: Tlvs, stat: string | null, options: ReceiptOptions): ReceiptState {
  const code = readUint(tlvs, TAG.message_state, 1);
  const text = stat === null ? '' : stat.toUpperCase();
  const accepted = code === null ? text.startsWith('ACCEPT') : code === STATE_ACCEPTED;
  if (accepted && options.acceptedMeansDelivered) return 'DELIVERED';
  return (code === null ? null : STATES[code]) ?? stateOfStat(text);
}

function stateOfStat(text: string): ReceiptState {
  for (const [prefix, state] of STATE_PREFIXES) if (text.startsWith(prefix)) return state;
  return 'UNKNOWN';
}

/** Returns null for a code of zeros, which means no error. */
function errorIn(code: string | null): string | null {
  return code === null || code === '000' || /^0*$/.test(code) ? null : code;
}

/** Reads network_error_code: a type and a 16-bit code, returned in decimal, or three digits from some carriers. */
function networkError(tlvs: Tlvs): string | null {
  const value = tlvs.get(TAG.network_error_code);
  if (value?.length !== 3) return null;
  const text = Buffer.from(value).toString('latin1');
  const [, high = 0, low = 0] = value;
  return /^\d{3}$/.test(text) ? text : String(high * 256 + low);
}

/** The last date that was read: receipt dates are accurate to the minute, so thousands in a row are the same. */
let lastDone: { text: string; offsetMinutes: number; date: Date | null } | null = null;

function doneDate(text: string, offsetMinutes: number): Date | null {
  if (lastDone?.text !== text || lastDone.offsetMinutes !== offsetMinutes) {
    lastDone = { text, offsetMinutes, date: parseDone(text, offsetMinutes) };
  }
  return lastDone.date;
}

/** YYMMDDhhmm with or without seconds; a few carriers also write the century. */
const DATES = [/^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?$/, /^20(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?$/];

function parseDone(text: string, offsetMinutes: number): Date | null {
  for (const pattern of DATES) {
    const match = pattern.exec(text);
    if (!match) continue;
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
      .slice(1)
      .map((digits) => +(digits ?? 0));
    const date = utcDate(year, month, day, hour, minute, second);
    if (date) return new Date(date.getTime() - offsetMinutes * 60_000);
  }
  return null;
}

function tlvsAsText(tlvs: Tlvs): string {
  const fields = [...tlvs].map(
    ([tag, value]) => `${tag.toString(16).padStart(4, '0')}=${Buffer.from(value).toString('hex')}`,
  );
  return fields.join(' ');
}

/** Builds the text of a receipt in the usual layout; `stat` and `err` are used as given. */
export function receiptText(receipt: {
  readonly id: string;
  readonly submittedAt: Date;
  readonly doneAt: Date;
  readonly stat: string;
  readonly err: string;
  /** The message, of which the first 20 characters are quoted. */
  readonly text: string;
}): string {
  const delivered = receipt.stat === 'DELIVRD' ? '001' : '000';
  const dates = `submit date:${receiptDate(receipt.submittedAt)} done date:${receiptDate(receipt.doneAt)}`;
  const outcome = `stat:${receipt.stat} err:${receipt.err} text:${receipt.text.slice(0, 20)}`;
  return `id:${receipt.id} sub:001 dlvrd:${delivered} ${dates} ${outcome}`;
}

/** Returns an id in upper case (ASCII only) and without leading zeros: one form for all its widths and cases. */
export const bareId = (id: string): string =>
  id.replace(/[a-z]+/g, (letters) => letters.toUpperCase()).replace(/^0+/, '');

/**
 * Returns the spellings of `id` that the peer may use in a receipt, as bare ids, the most likely first and each once:
 * as is, converted from hexadecimal to decimal, and from decimal to hexadecimal. Two ids may share a spelling: when
 * several messages match inexactly, the match proves nothing.
 */
export function spellings(id: string): string[] {
  const bare = bareId(id);
  const all = [bare];
  if (isNumber(bare, /^[\dA-F]+$/)) all.push(BigInt(`0x${bare}`).toString());
  if (isNumber(bare, /^\d+$/)) all.push(BigInt(bare).toString(16).toUpperCase());
  return [...new Set(all)];
}

/**
 * Returns true if an id consists of these digits. Longer texts are not ids, and the time to convert them would grow
 * with the square of their length.
 */
function isNumber(id: string, digits: RegExp): boolean {
  return id.length <= MAX_ID_LENGTH && digits.test(id);
}
