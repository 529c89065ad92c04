import { setTimeout as delay } from 'node:timers/promises';

/** The result of one poll: whether the wait is over, and a value that changes as long as there is progress. */
export type PollResult = { readonly done: boolean; readonly progress: string | number };

export type PollOptions = { readonly stallTimeoutMs: number; readonly pollMs: number };

/** Polls every `pollMs` until `done`. Returns false when `progress` has not changed for `stallTimeoutMs`. */
export async function pollUntilDone(
  poll: () => PollResult | Promise<PollResult>,
  { stallTimeoutMs, pollMs }: PollOptions,
): Promise<boolean> {
  let [last, at]: [PollResult['progress'] | null, number] = [null, performance.now()];
  for (;;) {
    const { done, progress } = await poll();
    if (done) return true;
    if (progress !== last) [last, at] = [progress, performance.now()];
    if (performance.now() - at > stallTimeoutMs) return false;
    await delay(pollMs);
  }
}
