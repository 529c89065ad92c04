import { isTimeZone, localTimeOf } from '../../../platform/lib/local-time.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

/** The hours in which a route is used, as clocks in a time zone show them. */
export type Hours = {
  /** The first minute, as HH:MM. */
  readonly from: string;
  /** The minute after the last one, as HH:MM, up to 24:00. Not after `from`: the hours end on the next day. */
  readonly to: string;
  /** A time zone of the IANA database, such as Europe/Rome. */
  readonly timeZone: string;
  /** The days on which the hours begin, in ascending order: 1 is Monday, 7 Sunday. */
  readonly weekdays: number[];
};

export const ALL_WEEKDAYS: number[] = [1, 2, 3, 4, 5, 6, 7];

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Returns the error in hours; undefined if there is none. */
export function faultOfHours({ from, to, timeZone, weekdays }: Hours): string | undefined {
  if (!TIME.test(from) || !(TIME.test(to) || to === '24:00'))
    return 'must be two times as HH:MM, such as 08:00 and 20:00';
  if (from === to) return 'must begin and end at different times';
  if (!isTimeZone(timeZone)) return `${timeZone} is not a time zone: use one such as Europe/Rome`;
  const ascending = weekdays.every((day, i) => ALL_WEEKDAYS.includes(day) && day > (weekdays[i - 1] ?? 0));
  return weekdays.length > 0 && ascending ? undefined : 'must have days of the week from 1 (Monday) to 7, in order';
}

/**
 * Makes a function that returns true if an instant, in ms since 1970, is within hours. At a change of the clock the
 * hours follow the clock: an hour that is skipped is missing, and one that comes twice counts twice. It remembers the
 * last minute, so that a million messages of a minute query the calendar once.
 */
export function openingOf({ from, to, timeZone, weekdays }: Hours): (atMs: number) => boolean {
  const days = new Set(weekdays);
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  const find = (at: Date): boolean => {
    const { minute, weekday } = localTimeOf(timeZone, at);
    if (begin < end) return minute >= begin && minute < end && days.has(weekday);
    if (minute >= begin) return days.has(weekday);
    return minute < end && days.has(weekday === 1 ? 7 : weekday - 1);
  };
  let known = { minute: Number.NaN, open: false };
  return (atMs) => {
    const minute = Math.floor(atMs / MINUTE_MS);
    if (minute !== known.minute) known = { minute, open: find(new Date(atMs)) };
    return known.open;
  };
}

function minutesOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}
