import type { Log } from './log.ts';
import { createSignal } from './signal.ts';

export type Loop = {
  /** Runs the work soon. */
  wake(): void;
  /** Lets the run under way end; nothing runs afterwards. */
  stop(): Promise<void>;
};

/**
 * Does a piece of work again and again, never twice at a time. `work` answers how long to wait until the next run (ms;
 * 0 goes on at once). A failure is logged and tried again after a second.
 */
export function startLoop(name: string, work: () => Promise<number>, log: Log): Loop {
  const signal = createSignal();
  let stopped = false;
  async function run(): Promise<void> {
    while (!stopped) {
      const waitMs = await work().catch((err: unknown) => {
        if (!stopped) log.error({ err, task: name }, 'periodic work failed, trying again');
        return 1000;
      });
      if (waitMs > 0 && !stopped) await signal.wait(waitMs);
    }
  }
  const running = run();
  return {
    wake: () => signal.raise(),
    stop() {
      stopped = true;
      signal.raise();
      return running;
    },
  };
}
