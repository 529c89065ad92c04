import { setTimeout as delay } from 'node:timers/promises';

/** Something that clients do again and again. */
export type Work = {
  readonly name: string;
  /** Interval between two beginnings; longer if one takes longer. */
  readonly everyMs: number;
  /** Does it once. Rejects when it gets no response, or a wrong one. */
  once(): Promise<void>;
};

export type Traffic = {
  /** Number of times that each kind of work was done, and that it failed, by name. */
  readonly done: ReadonlyMap<string, number>;
  readonly failed: ReadonlyMap<string, number>;
  /** Resolves when what is in progress has ended. */
  stop(): Promise<void>;
};

/** Starts a client for each kind of work. A failure is reported, and the work goes on. */
export function startTraffic(
  works: readonly Work[],
  onFailure: (name: string, error: unknown) => void = () => undefined,
): Traffic {
  const stopped = new AbortController();
  const done = new Map<string, number>();
  const failed = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);

  async function repeat({ name, everyMs, once }: Work): Promise<void> {
    let due = performance.now();
    while (!stopped.signal.aborted) {
      await once().then(
        () => add(done, name),
        (error: unknown) => {
          add(failed, name);
          onFailure(name, error);
        },
      );
      const now = performance.now();
      due = Math.max(due + everyMs, now);
      await delay(due - now, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  const clients = works.map(repeat);
  return {
    done,
    failed,
    async stop() {
      stopped.abort();
      await Promise.all(clients);
    },
  };
}

/** The sum over all kinds of work. */
export const sumOf = (counts: ReadonlyMap<string, number>): number => counts.values().reduce((sum, n) => sum + n, 0);
