import type { Log } from '../platform/lib/log.ts';
import { type LastRun, type Loop, startLoop } from '../platform/lib/background/loop.ts';
import { createSignal } from '../platform/lib/background/signal.ts';
import type { Task } from '../platform/lib/background/task.ts';
import { SECOND_MS } from '../platform/lib/time.ts';

export type TaskRunner = {
  /** The NOTIFY channels that wake any of the tasks. */
  readonly channels: readonly string[];
  start(): void;
  /** Wakes the tasks that a notification concerns. */
  onNotify(channel: string, payload: string): void;
  /** Returns the started tasks with the results of their last runs. */
  states(): readonly { readonly name: string; readonly last: LastRun }[];
  /**
   * Interrupts the tasks, waits for the runs in progress, and closes the tasks in reverse order. Rejects at the end
   * with the first failure, if there was one.
   */
  stop(): Promise<void>;
};

/**
 * Creates a runner that runs each task in its own loop. While `paused` returns true, pausable tasks check every second.
 */
export function createTaskRunner(
  tasks: readonly Task[],
  { paused, log }: { readonly paused: () => boolean; readonly log: Log },
): TaskRunner {
  const signals = new Map(tasks.map((task) => [task, task.signal ?? createSignal()]));
  const loops = new Map<Task, Loop>();
  return {
    channels: [...new Set(tasks.flatMap(({ wakeOn = {} }) => Object.keys(wakeOn)))],
    start() {
      for (const task of tasks) {
        const work = task.pausable ? () => (paused() ? Promise.resolve(SECOND_MS) : task.work()) : task.work;
        const { name, maxRetryMs } = task;
        loops.set(task, startLoop(name, work, log, { signal: signals.get(task), maxRetryMs }));
      }
    },
    onNotify(channel, payload) {
      for (const task of tasks) if (task.wakeOn?.[channel]?.(payload)) signals.get(task)?.raise();
    },
    states: () => [...loops].map(([{ name }, loop]) => ({ name, last: loop.last() })),
    async stop() {
      const ended = [...loops.values()].map((loop) => loop.stop());
      const interrupted = tasks.map(async (task) => task.interrupt?.());
      const results = await Promise.allSettled([...interrupted, ...ended]);
      for (const task of tasks.toReversed()) results.push(...(await Promise.allSettled([task.close?.()])));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}
