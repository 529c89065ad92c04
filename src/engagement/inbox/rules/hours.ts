import { localTimeOf } from '../../../platform/lib/local-time.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

/** A time of the week at which an account is open, in minutes of the day; `to` is up to 1440, the end of the day. */
export type OpenHours = {
  /** 1 is Monday, 7 Sunday. */
  readonly weekday: number;
  readonly from: number;
  readonly to: number;
};

export type Opening = { readonly timeZone: string; readonly openHours: readonly OpenHours[] };

/**
 * Returns the closed period that contains an instant, by the local day and minute of its beginning; null while open. An
 * account without hours is never closed. The same period has the same name at each of its instants, also if the clocks
 * change within it.
 */
export function findClosedPeriod({ timeZone, openHours }: Opening, at: Date): string | null {
  if (openHours.length === 0) return null;
  const { weekday, minute } = localTimeOf(timeZone, at);
  const today = openHours.filter((hours) => hours.weekday === weekday);
  if (today.some(({ from, to }) => minute >= from && minute < to)) return null;
  for (let daysAgo = 0; daysAgo <= 7; daysAgo++) {
    const day = ((weekday - 1 - daysAgo + 7) % 7) + 1;
    const ends = openHours
      .filter((hours) => hours.weekday === day && (daysAgo > 0 || hours.to <= minute))
      .map(({ to }) => to);
    if (ends.length > 0) return `${dayBefore(timeZone, at, daysAgo)}/${Math.max(...ends)}`;
  }
  return null;
}

/** Returns the local date of an instant, or of a day some days before it. */
function dayBefore(timeZone: string, at: Date, days: number): string {
  const today = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(at);
  return new Date(Date.parse(`${today}T00:00:00Z`) - days * DAY_MS).toISOString().slice(0, 10);
}
