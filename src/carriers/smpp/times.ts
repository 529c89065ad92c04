import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';

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
