import type { Log } from '../log.ts';
import { createSignal, type Signal } from './signal.ts';

const FIRST_RETRY_MS = 1000;

/** The result of the last run; `ranAt` is null before the first one has ended. */
export type LastRun = { readonly ranAt: Date | null; readonly error: string | null };

export type Loop = {
  /** Ends the wait for the next run. */
  wake(): void;
  last(): LastRun;
  /** Prevents further runs; resolves when the run in progress has ended. */
  stop(): Promise<void>;
};

type LoopOptions = {
  readonly signal?: Signal | undefined;
  /** The longest wait after failures in a row, in ms: the wait doubles from a second on. Default: a second. */
  readonly maxRetryMs?: number | undefined;
};

/**
 * Runs `work` repeatedly, never concurrently. It returns the wait until its next run in ms; 0 continues immediately. A
 * failure is logged and retried after a second, or later after several in a row (`maxRetryMs`).
 */
export function startLoop(
  name: string,
  work: () => Promise<number>,
  log: Log,
  { signal = createSignal(), maxRetryMs = FIRST_RETRY_MS }: LoopOptions = {},
): Loop {
  let stopped = false;
  let retryMs = FIRST_RETRY_MS;
  let last: LastRun = { ranAt: null, error: null };
  async function run(): Promise<void> {
    while (!stopped) {
      let error: string | null = null;
      const waitMs = await work().catch((err: unknown) => {
        if (!stopped) log.error({ err, task: name }, 'periodic work failed, will be retried');
        error = String(err);
        return retryMs;
      });
      retryMs = error === null ? FIRST_RETRY_MS : Math.min(2 * retryMs, maxRetryMs);
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
