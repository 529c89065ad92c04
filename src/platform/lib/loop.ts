import type { Log } from './log.ts';
import { createSignal, type Signal } from './signal.ts';

/** How the last run went; `ranAt` is null before the first has ended. */
export type LastRun = { readonly ranAt: Date | null; readonly error: string | null };

export type Loop = {
  /** Runs the work soon. */
  wake(): void;
  last(): LastRun;
  /** Lets the run under way end; nothing runs afterwards. */
  stop(): Promise<void>;
};

/**
 * Does a piece of work again and again, never twice at a time. `work` answers how long to wait until the next run (ms;
 * 0 goes on at once). A failure is logged and tried again after a second.
 */
export function startLoop(
  name: string,
  work: () => Promise<number>,
  log: Log,
  signal: Signal = createSignal(),
): Loop {
  let stopped = false;
  let last: LastRun = { ranAt: null, error: null };
  async function run(): Promise<void> {
    while (!stopped) {
      let error: string | null = null;
      const waitMs = await work().catch((err: unknown) => {
        if (!stopped) log.error({ err, task: name }, 'periodic work failed, trying again');
        error = String(err);
        return 1000;
      });
      last = { ranAt: new Date(), error };
      if (waitMs > 0 && !stopped) await signal.wait(waitMs);
    }
  }
  const running = run();
  return {
    wake: () => signal.raise(),
    last: () => last,
    stop() {
      stopped = true;
      signal.raise();
      return running;
    },
  };
}
