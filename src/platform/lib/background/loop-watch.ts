import { AsyncLocalStorage } from 'node:async_hooks';

/** Measures holds of the event loop by holder, and their duration. */
export type LoopWatch = {
  /** Counts the time from now on for `holder`, until the current callback of the event loop ends. */
  begin(holder: string): void;
  /** Begins, and makes `resume` count for `holder` in everything that `work` starts. */
  run(holder: string, work: () => void): void;
};

type Context = { readonly watch: LoopWatch; readonly holder: string };
const context = new AsyncLocalStorage<Context>();

/**
 * Counts the time from now on for the holder on whose behalf this code runs, if there is one. Call it where code
 * continues after a wait: the event loop itself does not report that.
 */
export function resume(): void {
  const current = context.getStore();
  current?.watch.begin(current.holder);
}

/**
 * Creates a watch that calls `onHold` at the end of each stretch in which a holder kept everything else from running:
 * the callback of the event loop with its microtasks. The time is that of the clock, as others wait for it. It costs
 * about half a microsecond per stretch.
 */
export function createLoopWatch(onHold: (holder: string, ms: number) => void): LoopWatch {
  let holder: string | undefined;
  let beganAt = 0;
  function end(): void {
    if (holder === undefined) return;
    const held = holder;
    holder = undefined;
    onHold(held, performance.now() - beganAt);
  }
  // After all microtasks, and before the next callback of the event loop.
  const endAfterMicrotasks = (): void => process.nextTick(end);

  const watch: LoopWatch = {
    begin(next) {
      if (holder === next) return;
      if (holder === undefined) queueMicrotask(endAfterMicrotasks);
      else onHold(holder, performance.now() - beganAt);
      holder = next;
      beganAt = performance.now();
    },
    run(next, work) {
      watch.begin(next);
      context.run({ watch, holder: next }, work);
    },
  };
  return watch;
}
