import type { QuietHours } from '../sql.ts';
import { zonesOf } from './zones.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

const DAY_MINUTES = 24 * 60;
const STEP_MINUTES = 60;
/** Of a country whose zones never are awake together, looked at so many times before its first zone decides. */
const MAX_STEPS = 100;

/**
 * How long numbers of a country must be left alone from an instant on, in ms; 0 when they may be written to. A country
 * with several zones is quiet while any of them is: the number does not tell in which one somebody lives.
 */
export function quietMs(hours: QuietHours | null, country: string, at: Date): number {
  if (hours === null || 'off' in hours) return 0;
  const window = { from: minutesOf(hours.from), to: minutesOf(hours.to) };
  const zones = zonesOf(country);
  return awakeAfterMs(window, zones, at) ?? awakeAfterMs(window, zones.slice(0, 1), at) ?? 0;
}

type Window = { readonly from: number; readonly to: number };

/** Null when there is no such time in sight. Not straight to a window's end: clocks are changed at night. */
function awakeAfterMs(window: Window, zones: readonly string[], at: Date): number | null {
  let waitMs = 0;
  for (let look = 0; look < MAX_STEPS; look++) {
    const time = new Date(at.getTime() + waitMs);
    const more = Math.max(0, ...zones.map((zone) => minutesToEnd(window, minuteIn(zone, time))));
    if (more === 0) return waitMs;
    // To the full minute, which is when the window ends.
    waitMs += Math.min(more, STEP_MINUTES) * MINUTE_MS - (time.getTime() % MINUTE_MS);
  }
  return null;
}

/** Minutes until the window ends; 0 outside of it. It may pass midnight. */
function minutesToEnd({ from, to }: Window, minute: number): number {
  const inside = from <= to ? minute >= from && minute < to : minute >= from || minute < to;
  return inside ? (to - minute + DAY_MINUTES) % DAY_MINUTES : 0;
}

function minutesOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** The minute of the day in a zone. */
function minuteIn(zone: string, at: Date): number {
  let format = FORMATS.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    FORMATS.set(zone, format);
  }
  return minutesOf(format.format(at));
}
