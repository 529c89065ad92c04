import { DAY_MS } from './time.ts';

const FORM = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?) ?(Z|[+-]\d{2}:?\d{2})$/;

/**
 * Parses the specification's `yyyy-MM-dd HH:mm:ss.SSSZ` (2027-01-31 09:00:00.000+0100) and ISO 8601 with an offset.
 * Null for anything else, including dates that do not exist.
 */
export function parseScheduledDate(text: string): Date | null {
  const [, day, time, offset] = FORM.exec(text) ?? [];
  if (day === undefined || time === undefined || offset === undefined) return null;
  const zone = offset === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(-2)}`;
  const date = new Date(`${day}T${time}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? date : null;
}

/** Formats a date in UTC as in the specification: 2027-01-31 08:00:00.000+0000. */
export const formatScheduledDate = (date: Date): string => date.toISOString().replace('T', ' ').replace('Z', '+0000');

/** Maximum days that messages may be scheduled ahead unless the operator sets another limit. */
const DEFAULT_MAX_SCHEDULE_DAYS = 366;

/** Returns the error in the time at which a message is to be sent; null if there is none, or no time. */
export function scheduleFault(
  text: string | undefined,
  now: Date,
  maxDays: number = DEFAULT_MAX_SCHEDULE_DAYS,
): string | null {
  if (text === undefined) return null;
  const date = parseScheduledDate(text);
  if (date === null) return 'must be a date such as 2027-01-31 09:00:00.000+0100';
  if (date <= now) return 'must lie in the future';
  return date.getTime() > now.getTime() + maxDays * DAY_MS ? `must be at most ${maxDays} days ahead` : null;
}
