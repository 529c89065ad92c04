import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import {
  byte,
  cStringSize,
  NO_TLVS,
  type ReadCursor,
  readByte,
  readCString,
  shortOctets,
  type Tlvs,
  tlvField,
  type WriteCursor,
  writeCString,
} from './wire.ts';

/** The common body of submit_sm and deliver_sm (SMPP 3.4, 4.4 and 4.6). */
export type Message = {
  readonly serviceType: string;
  readonly sourceTon: number;
  readonly sourceNpi: number;
  readonly source: string;
  readonly destTon: number;
  readonly destNpi: number;
  readonly destination: string;
  readonly esmClass: number;
  readonly protocolId: number;
  readonly priority: number;
  /** 16 characters in the format of `times.ts`; empty for immediate delivery. */
  readonly scheduleTime: string;
  /** 16 characters in the format of `times.ts`; empty leaves the validity to the carrier. */
  readonly validity: string;
  readonly registeredDelivery: number;
  readonly replaceIfPresent: number;
  readonly dataCoding: number;
  readonly defaultMessageId: number;
  /** At most 254 octets; a longer text goes in the message_payload parameter. */
  readonly shortMessage: Uint8Array;
  readonly tlvs: Tlvs;
};

/** An empty message without a sender to an international number: the fields that most messages have in common. */
export const EMPTY_MESSAGE: Message = {
  serviceType: '',
  sourceTon: 0,
  sourceNpi: 0,
  source: '',
  destTon: 1,
  destNpi: 1,
  destination: '',
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  scheduleTime: '',
  validity: '',
  registeredDelivery: 0,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: new Uint8Array(0),
  tlvs: NO_TLVS,
};

// These two PDUs are nearly all of the traffic, so their code is written out: a layout table would cost about half of
// the rate.

/** Returns the size of the body in octets. Throws a RangeError naming the first field whose value does not fit. */
export function messageSize(message: Message): number {
  return (
    cStringSize('serviceType', message.serviceType, 6) +
    byte.size('sourceTon', message.sourceTon) +
    byte.size('sourceNpi', message.sourceNpi) +
    cStringSize('source', message.source, 21) +
    byte.size('destTon', message.destTon) +
    byte.size('destNpi', message.destNpi) +
    cStringSize('destination', message.destination, 21) +
    byte.size('esmClass', message.esmClass) +
    byte.size('protocolId', message.protocolId) +
    byte.size('priority', message.priority) +
    cStringSize('scheduleTime', message.scheduleTime, 17) +
    cStringSize('validity', message.validity, 17) +
    byte.size('registeredDelivery', message.registeredDelivery) +
    byte.size('replaceIfPresent', message.replaceIfPresent) +
    byte.size('dataCoding', message.dataCoding) +
    byte.size('defaultMessageId', message.defaultMessageId) +
    shortOctets.size('shortMessage', message.shortMessage) +
    tlvField.size('tlvs', message.tlvs)
  );
}

/** Writes the body at the cursor, which must have room for `messageSize` octets. */
export function writeMessage(cursor: WriteCursor, message: Message): void {
  writeCString(cursor, message.serviceType);
  byte.write(cursor, message.sourceTon);
  byte.write(cursor, message.sourceNpi);
  writeCString(cursor, message.source);
  byte.write(cursor, message.destTon);
  byte.write(cursor, message.destNpi);
  writeCString(cursor, message.destination);
  byte.write(cursor, message.esmClass);
  byte.write(cursor, message.protocolId);
  byte.write(cursor, message.priority);
  writeCString(cursor, message.scheduleTime);
  writeCString(cursor, message.validity);
  byte.write(cursor, message.registeredDelivery);
  byte.write(cursor, message.replaceIfPresent);
  byte.write(cursor, message.dataCoding);
  byte.write(cursor, message.defaultMessageId);
  shortOctets.write(cursor, message.shortMessage);
  tlvField.write(cursor, message.tlvs);
}

type Head<Command> = { readonly command: Command; readonly status: number; readonly sequence: number };

/** Reads the body and returns header and body in one object. The order of the fields here is the order of reading. */
export function readMessage<Command>(cursor: ReadCursor, head: Head<Command>): Head<Command> & Message {
  return {
    command: head.command,
    status: head.status,
    sequence: head.sequence,
    serviceType: readCString(cursor, 'serviceType'),
    sourceTon: readByte(cursor, 'sourceTon'),
    sourceNpi: readByte(cursor, 'sourceNpi'),
    source: readCString(cursor, 'source'),
    destTon: readByte(cursor, 'destTon'),
    destNpi: readByte(cursor, 'destNpi'),
    destination: readCString(cursor, 'destination'),
    esmClass: readByte(cursor, 'esmClass'),
    protocolId: readByte(cursor, 'protocolId'),
    priority: readByte(cursor, 'priority'),
    scheduleTime: readCString(cursor, 'scheduleTime'),
    validity: readCString(cursor, 'validity'),
    registeredDelivery: readByte(cursor, 'registeredDelivery'),
    replaceIfPresent: readByte(cursor, 'replaceIfPresent'),
    dataCoding: readByte(cursor, 'dataCoding'),
    defaultMessageId: readByte(cursor, 'defaultMessageId'),
    shortMessage: shortOctets.read(cursor, 'shortMessage'),
    tlvs: tlvField.read(cursor, 'tlvs'),
  };
}

/** Type of number and numbering plan (SMPP 3.4, 5.2.5 and 5.2.6). */
type TonNpi = { readonly ton: number; readonly npi: number };
type SmppAddress = TonNpi & { readonly addr: string };

/** Addressing rules that differ between carriers; the defaults suit most of them. */
type AddressSettings = {
  /** Address type of a sender with any character other than digits; default 5/0. */
  readonly alphaAddress?: TonNpi;
  /** Address type of a sender of more than 6 digits, or with a plus sign; default 1/1. */
  readonly longAddress?: TonNpi;
  /** Address type of a sender of at most 6 digits; carriers differ most here; default 3/0. */
  readonly shortAddress?: TonNpi;
  /** Address type of every destination; default 1/1. */
  readonly destinationAddress?: TonNpi;
  /** True if international numbers keep their plus sign; default false. */
  readonly plusPrefix?: boolean;
};

const ALPHA: TonNpi = { ton: 5, npi: 0 };
const SHORT: TonNpi = { ton: 3, npi: 0 };
const INTERNATIONAL: TonNpi = { ton: 1, npi: 1 };

const MAX_SHORT_CODE_DIGITS = 6;
const NUMBER = /^\+?\d+$/;

/** Returns the address fields of a `Submission.sender`: a text, a number, a short code, or an empty string for 0/0. */
export function sourceAddress(sender: string, settings: AddressSettings = {}): SmppAddress {
  if (sender === '') return { ton: 0, npi: 0, addr: '' };
  if (!NUMBER.test(sender)) return addressOf(settings.alphaAddress ?? ALPHA, sender);
  if (sender.length <= MAX_SHORT_CODE_DIGITS && !sender.startsWith('+')) {
    return addressOf(settings.shortAddress ?? SHORT, sender);
  }
  return addressOf(settings.longAddress ?? INTERNATIONAL, international(sender, settings));
}

/** Returns the address fields of a destination in E.164 with its plus sign. */
export function destinationAddress(e164: string, settings: AddressSettings = {}): SmppAddress {
  return addressOf(settings.destinationAddress ?? INTERNATIONAL, international(e164, settings));
}

function addressOf({ ton, npi }: TonNpi, addr: string): SmppAddress {
  return { ton, npi, addr };
}

function international(number: string, settings: AddressSettings): string {
  const digits = number.startsWith('+') ? number.slice(1) : number;
  return settings.plusPrefix ? `+${digits}` : digits;
}

// The time strings of schedule_delivery_time, validity_period and final_date (SMPP 3.4, 7.1.1).

/** The protocol does not define the length of a month or a year in a relative time. */
const MONTH_MS = 30 * DAY_MS;
const YEAR_MS = 365 * DAY_MS;
const MAX_RELATIVE_MS = 12 * MONTH_MS;

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

/** Formats a date as YYMMDDhhmmss in UTC, for the years 2000 to 2099. */
function utcDigits(date: Date): string {
  const day = twoDigits(date.getUTCFullYear() % 100) + twoDigits(date.getUTCMonth() + 1) + twoDigits(date.getUTCDate());
  return day + twoDigits(date.getUTCHours()) + twoDigits(date.getUTCMinutes()) + twoDigits(date.getUTCSeconds());
}

const TENTH_MS = 100;
/** The last time that was formatted: the validity of messages in a bulk send ends at nearly the same time. */
let last = { tenths: Number.NaN, text: '' };

/** Formats an instant in UTC, rounded down to a tenth of a second: `261231235900000+`. */
export function absoluteTime(date: Date): string {
  const tenths = Math.floor(date.getTime() / TENTH_MS);
  if (tenths !== last.tenths) {
    last = { tenths, text: `${utcDigits(date)}${Math.floor(date.getUTCMilliseconds() / TENTH_MS)}00+` };
  }
  return last.text;
}

/** Formats a duration in whole seconds, rounded down, from 1 second to 360 days: `000000030000000R` for three hours. */
export function relativeTime(ms: number): string {
  const rest = Math.min(Math.max(ms, SECOND_MS), MAX_RELATIVE_MS);
  const months = Math.floor(rest / MONTH_MS);
  const days = Math.floor((rest % MONTH_MS) / DAY_MS);
  const hours = Math.floor((rest % DAY_MS) / HOUR_MS);
  const minutes = Math.floor((rest % HOUR_MS) / MINUTE_MS);
  const seconds = Math.floor((rest % MINUTE_MS) / SECOND_MS);
  return `00${twoDigits(months)}${twoDigits(days)}${twoDigits(hours)}${twoDigits(minutes)}${twoDigits(seconds)}000R`;
}

const TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d)(\d\d)([+\-R])$/;
const QUARTER_MS = 15 * MINUTE_MS;
const MAX_OFFSET_QUARTERS = 48;

/** Parses an instant or a duration; null for an empty text or an invalid time. */
export function parseTime(text: string): Date | { relativeMs: number } | null {
  const match = TIME.exec(text);
  if (!match) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, tenth = 0, quarters = 0] = match
    .slice(1, 9)
    .map(Number);
  if (match[9] === 'R') {
    const dayMs = year * YEAR_MS + month * MONTH_MS + day * DAY_MS;
    return { relativeMs: dayMs + hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS };
  }
  const local = utcDate(year, month, day, hour, minute, second);
  if (!local || quarters > MAX_OFFSET_QUARTERS) return null;
  const offsetMs = quarters * QUARTER_MS * (match[9] === '+' ? 1 : -1);
  return new Date(local.getTime() + tenth * 100 - offsetMs);
}

/**
 * Returns an instant; `year` is 0 to 99 from 2000, `month` counts from 1. Null if the date or the time does not exist.
 */
export function utcDate(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): Date | null {
  if (hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(Date.UTC(2000 + year, month - 1, day, hour, minute, second));
  // A day that the month does not have shifts the date into another month.
  return date.getUTCMonth() === month - 1 ? date : null;
}

/** Formats a date of a receipt's text as YYMMDDhhmm in UTC. */
export function receiptDate(date: Date): string {
  return utcDigits(date).slice(0, 10);
}
