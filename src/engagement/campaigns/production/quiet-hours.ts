import type { QuietHours } from '../sql.ts';
import { zonesOf } from './zones.ts';
import { localTimeOf } from '../../../platform/lib/local-time.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

const DAY_MINUTES = 24 * 60;
const STEP_MINUTES = 60;
/**
 * Number of steps that are tried for a country whose zones are never all awake at the same time, before its first zone
 * alone decides.
 */
const MAX_STEPS = 100;

/**
 * Returns the ms from an instant on during which nothing may be sent to numbers of a country; 0 when sending is
 * allowed. A country with several time zones is quiet while any of them is: the number does not show in which one a
 * person lives.
 */
export function quietMs(hours: QuietHours | null, country: string, at: Date): number {
  if (hours === null || 'off' in hours) return 0;
  const window = { from: minutesOf(hours.from), to: minutesOf(hours.to) };
  const zones = zonesOf(country);
  return awakeAfterMs(window, zones, at) ?? awakeAfterMs(window, zones.slice(0, 1), at) ?? 0;
}

type Window = { readonly from: number; readonly to: number };

/**
 * Returns the ms until no zone is inside the window any more; null when that does not happen within `MAX_STEPS`. Goes
 * in steps of at most an hour, because clocks are changed at night.
 */
function awakeAfterMs(window: Window, zones: readonly string[], at: Date): number | null {
  let waitMs = 0;
  for (let step = 0; step < MAX_STEPS; step++) {
    const time = new Date(at.getTime() + waitMs);
    const minutes = Math.max(0, ...zones.map((zone) => minutesToEnd(window, localTimeOf(zone, time).minute)));
    if (minutes === 0) return waitMs;
    // The window ends at a full minute.
    waitMs += Math.min(minutes, STEP_MINUTES) * MINUTE_MS - (time.getTime() % MINUTE_MS);
  }
  return null;
}

/** Minutes until the window ends; 0 outside of it. The window may span midnight. */
function minutesToEnd({ from, to }: Window, minute: number): number {
  const inside = from <= to ? minute >= from && minute < to : minute >= from || minute < to;
  return inside ? (to - minute + DAY_MINUTES) % DAY_MINUTES : 0;
}

function minutesOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}
