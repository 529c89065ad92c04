import { localTimeOf } from '../../../../platform/lib/local-time.ts';
import type { Target } from './sql.ts';

/** Returns true if a recipient is in its quiet hours at this instant. The hours may go over midnight. */
export function isQuiet(
  { quietFrom, quietTo, timeZone }: Pick<Target, 'quietFrom' | 'quietTo' | 'timeZone'>,
  at: Date,
): boolean {
  if (quietFrom === null || quietTo === null) return false;
  const { minute } = localTimeOf(timeZone, at);
  return quietFrom <= quietTo ? minute >= quietFrom && minute < quietTo : minute >= quietFrom || minute < quietTo;
}

/** Writes a minute of the day as `HH:MM`. */
export const clockOf = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** Reads `HH:MM` as a minute of the day. */
export function minuteOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
}
