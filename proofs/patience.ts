import { setTimeout as delay } from 'node:timers/promises';

/** What one look has shown: whether the wait is over, and what changes as long as anything moves. */
export type Look = { readonly done: boolean; readonly seen: string | number };

export type Patience = { readonly patienceMs: number; readonly lookMs: number };

/** Looks again and again until it is done; false when nothing has moved for `patienceMs`. */
export async function waitPatiently(
  look: () => Look | Promise<Look>,
  { patienceMs, lookMs }: Patience,
): Promise<boolean> {
  let [last, at]: [Look['seen'] | null, number] = [null, performance.now()];
  for (;;) {
    const { done, seen } = await look();
    if (done) return true;
    if (seen !== last) [last, at] = [seen, performance.now()];
    if (performance.now() - at > patienceMs) return false;
    await delay(lookMs);
  }
}
