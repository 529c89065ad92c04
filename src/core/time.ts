import { Type } from 'typebox';

/** Date and time in a time zone. */
type LocalTime = {
  /** The minute of the day, from 0. */
  readonly minute: number;
  /** The day of the week as in ISO 8601: 1 is Monday, 7 Sunday. */
  readonly weekday: number;
};

/** Making a format takes 50 µs, using it some 3. */
const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = FORMATS.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    FORMATS.set(zone, format);
  }
  return format;
}

/** Clocks are only changed at full quarters of an hour. */
const SLOT_MS = 15 * 60_000;
const MAX_OFFSETS = 10_000;
/** The offsets of quarters of an hour that were asked for, by zone and quarter. */
const OFFSETS = new Map<string, number>();

/**
 * Returns the ms that clocks in a time zone of the IANA database are ahead of UTC at an instant. Throws a RangeError for
 * an unknown zone (`isTimeZone`).
 */
export function offsetAt(zone: string, atMs: number): number {
  const slot = Math.floor(atMs / SLOT_MS);
  const key = `${zone}/${slot}`;
  let offset = OFFSETS.get(key);
  if (offset === undefined) {
    offset = findOffset(zone, slot * SLOT_MS);
    if (OFFSETS.size >= MAX_OFFSETS) OFFSETS.clear();
    OFFSETS.set(key, offset);
  }
  return offset;
}

function findOffset(zone: string, atMs: number): number {
  const parts = { year: 0, month: 0, day: 0, hour: 0, minute: 0 };
  for (const { type, value } of formatOf(zone).formatToParts(atMs))
    if (type in parts) parts[type as 'year'] = Number(value);
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute) - atMs;
}

/** The weekday (1 is Monday) of a day, counted from 1970-01-01, a Thursday. */
export const weekdayOf = (day: number): number => ((((day + 3) % 7) + 7) % 7) + 1;

/** Returns the local time of an instant in a time zone, with its summer time. Errors as `offsetAt`. */
export function localTimeOf(zone: string, at: Date): LocalTime {
  const local = at.getTime() + offsetAt(zone, at.getTime());
  const day = Math.floor(local / DAY_MS);
  return { minute: Math.floor((local - day * DAY_MS) / MINUTE_MS), weekday: weekdayOf(day) };
}

/** Returns true if a text names a time zone of the IANA database, such as Europe/Rome. */
export function isTimeZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** The decimals of a second beyond the third are read and dropped: many languages write six, seven or nine. */
const DATE_FORM =
  /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(?:(?<=\.\d{3})\d+)? ?(Z|[+-]\d{2}:?\d{2})$/;

/**
 * Parses the specification's `yyyy-MM-dd HH:mm:ss.SSSZ` (2027-01-31 09:00:00.000+0100) and ISO 8601 with an offset.
 * Null for anything else, including dates that do not exist.
 */
export function parseScheduledDate(text: string): Date | null {
  const [, day, time, offset] = DATE_FORM.exec(text) ?? [];
  if (day === undefined || time === undefined || offset === undefined) return null;
  const zone = offset === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(-2)}`;
  const date = new Date(`${day}T${time}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? date : null;
}

/** Formats a date in UTC as in the specification: 2027-01-31 08:00:00.000+0000. */
export const formatScheduledDate = (date: Date): string => date.toISOString().replace('T', ' ').replace('Z', '+0000');

/** Maximum days that messages may be scheduled ahead. */
export const MAX_SCHEDULE_DAYS = 366;

/** Returns the error in the time at which a message is to be sent; null if there is none, or no time. */
export function scheduleFault(text: string | undefined, now: Date): string | null {
  if (text === undefined) return null;
  const date = parseScheduledDate(text);
  if (date === null) return 'must be a date such as 2027-01-31 09:00:00.000+0100';
  if (date <= now) return 'must lie in the future';
  const isTooLate = date.getTime() > now.getTime() + MAX_SCHEDULE_DAYS * DAY_MS;
  return isTooLate ? `must be at most ${MAX_SCHEDULE_DAYS} days ahead` : null;
}

/** Durations in milliseconds. A day is 24 hours: use dates for calendar days. */
export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const FORM = String.raw`^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)? ?([Zz]|[+\- ]\d{2}:?\d{2})$`;

/** The schema of a field for `parseInstant`; it also accepts days that do not exist, such as 31 February. */
export const instantField = (description: string) =>
  Type.String({
    pattern: FORM,
    'x-message': 'must be an ISO 8601 date and time with an offset, such as 2027-01-31T09:00:00+01:00',
    description: `${description} ISO 8601 with an offset.`,
    examples: ['2027-01-31T09:00:00+01:00'],
  });

const BLANK_OFFSET = / (\d{2}:?\d{2})$/;

/**
 * Parses an ISO 8601 instant with an offset, to the millisecond; null for anything else. Finer fractions are truncated.
 * A space before the offset counts as a plus sign: in a query, an unencoded `+01:00` arrives as ` 01:00`.
 */
export const parseInstant = (text: string): Date | null =>
  new RegExp(FORM).test(text) ? parseScheduledDate(text.toUpperCase().replace(BLANK_OFFSET, '+$1')) : null;

/** The source of the current time, so that tests can set it. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };
