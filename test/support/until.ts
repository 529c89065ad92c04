import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 20;

/**
 * Looks again and again until there is something to see (neither undefined nor false), and returns it. Rejects when
 * `deadlineMs` has passed, naming what was waited for.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await delay(LOOK_MS);
  }
}
