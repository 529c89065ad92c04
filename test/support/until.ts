import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;
/** Deadline of waits in tests: conditions come true in milliseconds, but in many seconds on a busy machine. */
const DEADLINE_MS = 90_000;

/**
 * Polls until `poll` returns something other than undefined or false, and returns that. Rejects after `deadlineMs`,
 * naming what was waited for.
 */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await poll();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await delay(POLL_MS);
  }
}
