import type { Log } from '../log.ts';
import { createSignal, type Signal } from './signal.ts';

/** The result of the last run; `ranAt` is null before the first one has ended. */
export type LastRun = { readonly ranAt: Date | null; readonly error: string | null };

export type Loop = {
  /** Ends the wait for the next run. */
  wake(): void;
  last(): LastRun;
  /** Prevents further runs; resolves when the run in progress has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `work` repeatedly, never concurrently. It returns the wait until its next run in ms; 0 continues at once. A
 * failure is logged and retried after a second.
 */
export function startLoop(name: string, work: () => Promise<number>, log: Log, signal: Signal = createSignal()): Loop {
  let stopped = false;
  let last: LastRun = { ranAt: null, error: null };
  async function run(): Promise<void> {
    while (!stopped) {
      let error: string | null = null;
      const waitMs = await work().catch((err: unknown) => {
        if (!stopped) log.error({ err, task: name }, 'periodic work failed, will be retried');
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
