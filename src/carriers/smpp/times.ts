/** The time strings of schedule_delivery_time, validity_period and final_date (protocol sheet smpp, section 8). */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The protocol does not say how long a month or a year of a relative time is. */
const MONTH_MS = 30 * DAY_MS;
const YEAR_MS = 365 * DAY_MS;
const LONGEST_RELATIVE_MS = 12 * MONTH_MS;

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

/** `YYMMDDhhmmss` in UTC; the years 2000 to 2099. */
function digits(date: Date): string {
  const day = two(date.getUTCFullYear() % 100) + two(date.getUTCMonth() + 1) + two(date.getUTCDate());
  return day + two(date.getUTCHours()) + two(date.getUTCMinutes()) + two(date.getUTCSeconds());
}

const TENTH_MS = 100;
/** The last time that was written. Messages of a bulk send end within moments of each other. */
let last = { tenths: Number.NaN, text: '' };

/** The instant in UTC to the tenth of a second, cut off: `261231235900000+`. */
export function absoluteTime(date: Date): string {
  const tenths = Math.floor(date.getTime() / TENTH_MS);
  if (tenths !== last.tenths) {
    last = { tenths, text: `${digits(date)}${Math.floor(date.getUTCMilliseconds() / TENTH_MS)}00+` };
  }
  return last.text;
}

/** A duration in whole seconds, cut off, from 1 second to 360 days: `000000030000000R` for three hours. */
export function relativeTime(ms: number): string {
  const rest = Math.min(Math.max(ms, SECOND_MS), LONGEST_RELATIVE_MS);
  const months = Math.floor(rest / MONTH_MS);
  const days = Math.floor((rest % MONTH_MS) / DAY_MS);
  const hours = Math.floor((rest % DAY_MS) / HOUR_MS);
  const minutes = Math.floor((rest % HOUR_MS) / MINUTE_MS);
  const seconds = Math.floor((rest % MINUTE_MS) / SECOND_MS);
  return `00${two(months)}${two(days)}${two(hours)}${two(minutes)}${two(seconds)}000R`;
}

const TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d)(\d\d)([+\-R])$/;
const QUARTER_MS = 15 * MINUTE_MS;
const MOST_QUARTERS = 48;

/** An instant or a duration; null for an empty text and for one that is no time. */
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
  if (!local || quarters > MOST_QUARTERS) return null;
  const offsetMs = quarters * QUARTER_MS * (match[9] === '+' ? 1 : -1);
  return new Date(local.getTime() + tenth * 100 - offsetMs);
}

/** The instant; `year` 0 to 99 from 2000, `month` from 1, `day` 0 to 99. Null when there is no such date or time of day. */
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
  // A day that the month does not have moves the date into another month.
  return date.getUTCMonth() === month - 1 ? date : null;
}

/** A date of a receipt's text, `YYMMDDhhmm`, in UTC. */
export function receiptDate(date: Date): string {
  return digits(date).slice(0, 10);
}
