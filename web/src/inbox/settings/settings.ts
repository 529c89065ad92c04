import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import type { Need } from '../../api/session.ts';
import { INBOX } from '../desk/tools.ts';

/** The permission that changing opening hours and assignment requires, in addition to that of the inbox. */
export const RULES_NEED: Need = { scope: 'webhooks', write: true };

const findSettings = (signal: AbortSignal) => ok(api.GET(`${INBOX}/settings`, { signal }));
export type Settings = Awaited<ReturnType<typeof findSettings>>;
export const settingsQuery = queryOptions({
  queryKey: ['inbox-settings'],
  queryFn: ({ signal }) => findSettings(signal),
  staleTime: 60_000,
});

export const saveSettings = (body: Settings) => ok(api.PUT(`${INBOX}/settings`, { body }));

const DAY_MINUTES = 1440;
const timeOf = (minute: number): string =>
  minute === DAY_MINUTES
    ? '23:59'
    : `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** The minute of the day of a time; as an end, 23:59 is the end of the day. */
function minuteOf(time: string, isEnd: boolean): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return isEnd && time === '23:59' ? DAY_MINUTES : hours * 60 + minutes;
}

/** A span of opening hours as a form shows it, with times as `HH:mm`. */
export type HoursRow = { readonly weekday: number; readonly from: string; readonly to: string };

export const toRows = (hours: Settings['openHours']): readonly HoursRow[] =>
  hours
    .map(({ weekday, from, to }) => ({ weekday, from: timeOf(from), to: timeOf(to) }))
    .sort((a, b) => a.weekday - b.weekday || a.from.localeCompare(b.from));

export const fromRows = (rows: readonly HoursRow[]): Settings['openHours'] =>
  rows.map(({ weekday, from, to }) => ({ weekday, from: minuteOf(from, false), to: minuteOf(to, true) }));
