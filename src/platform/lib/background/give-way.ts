import { setTimeout as delay } from 'node:timers/promises';

/** Time after a single send for which bulk work yields. */
const RECENT_MS = 1000;
/** Maximum rest: more would make batches larger, and not shorten the waits of others. */
const MAX_REST_MS = 50;

let lastAt = Number.NEGATIVE_INFINITY;

/** Records that this process accepts or sends a single message, such as a one-time code, for which a user waits. */
export function noteSingle(): void {
  lastAt = performance.now();
}

/** Returns true if this process accepted or sent a single message within the last second. */
export const hasSingles = (): boolean => performance.now() - lastAt < RECENT_MS;

/**
 * Rests for as long as a piece of bulk work took that began at `beganAt` (`performance.now()`), at most 50 ms, while
 * single messages are sent: it leaves half of its time on the cores and in the database to them. Otherwise returns
 * immediately.
 */
export async function giveWay(beganAt: number): Promise<void> {
  if (hasSingles()) await delay(Math.min(performance.now() - beganAt, MAX_REST_MS));
}

/** Returns the size of a piece of bulk work: a quarter of `size` while single messages are sent. */
export const pieceOf = (size: number): number => (hasSingles() ? Math.ceil(size / 4) : size);
