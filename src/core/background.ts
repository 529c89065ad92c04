import { setImmediate as afterInput, setTimeout as delay } from 'node:timers/promises';
import type { Log } from './log.ts';
import type { NotifyChannel } from './notifications.ts';

/** Work that a worker does repeatedly in the background, never concurrently. */
export type Task = {
  readonly name: string;
  /** Does one run and returns the wait until the next one in ms; 0 continues immediately. */
  readonly work: () => Promise<number>;
  /** True if it stops while sending is paused, because it changes messages that another program may then own. */
  readonly pausable?: boolean;
  /** The longest wait after failures in a row, in ms (`startLoop`): for work that needs more than the database. */
  readonly maxRetryMs?: number;
  /**
   * Conditions by NOTIFY channel: each returns true if a payload wakes the task. The payload '' means that
   * notifications may have been missed.
   */
  readonly wakeOn?: { readonly [C in NotifyChannel]?: (payload: string) => boolean };
  /** Wakes the task from within this process. */
  readonly signal?: Signal;
  /** Called when the worker begins to stop: shortens the run in progress. */
  readonly interrupt?: () => Promise<void>;
  /** Called when no run is in progress any longer, in the reverse order of the tasks. */
  readonly close?: () => Promise<void>;
};

/** A condition for `wakeOn`: every payload wakes the task. */
export const always = (): boolean => true;

/**
 * Creates a `work` that runs again immediately after a run that found something to do, and otherwise after `idleMs`.
 */
export const untilIdle = (work: () => Promise<number | boolean>, idleMs: number) => async (): Promise<number> =>
  Number(await work()) > 0 ? 0 : idleMs;

/** Creates a `work` that runs every `everyMs`. */
export const every = (everyMs: number, work: () => Promise<unknown>) => async (): Promise<number> => {
  await work();
  return everyMs;
};

/**
 * Creates a `work` for rows with a due time. It queries the next due time when woken and at least every `pollMs` (for
 * rows that a dead process left behind), and works when one is due. An idle poll costs one simple query.
 */
export const whenDue =
  (work: () => Promise<number>, nextMs: () => Promise<number | null>, pollMs: number) => async (): Promise<number> => {
    const dueInMs = (await nextMs()) ?? pollMs;
    if (dueInMs > 0) return Math.min(pollMs, Math.max(20, dueInMs));
    return (await work()) > 0 ? 0 : 20;
  };

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

/**
 * A flag that one loop waits for and anyone can raise. If it is raised while nothing waits, the next wait returns
 * immediately.
 */
export type Signal = {
  raise(): void;
  /** Resolves when the flag is raised, or after `timeoutMs`, and lowers it. */
  wait(timeoutMs: number): Promise<void>;
};

export function createSignal(): Signal {
  let raised = false;
  let release: (() => void) | null = null;
  return {
    raise() {
      raised = true;
      release?.();
    },
    async wait(timeoutMs) {
      if (!raised) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          release = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        release = null;
      }
      raised = false;
    },
  };
}

/** Time for which work may hold the event loop before everything else that waits gets its turn. */
const SLICE_MS = 2;
/** Minimum number of items that are worth a wait for a turn. */
const MANY = 100;

/** Work that waits for a turn of the event loop, first come first served. */
const waiting: (() => void)[] = [];

function letOneGoOn(): void {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGoOn);
  next?.();
}

/**
 * Resolves in one of the next turns of the event loop, after the input and output that waits. In each turn only one of
 * all callers in the process goes on, so that a turn takes as long as one slice, however many large requests there are:
 * a single send needs some four turns until its response.
 */
export async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letOneGoOn);
  });
}

/**
 * Maps the items in their order, in slices of about 2 ms, each in a separate turn of the event loop (`nextTurn`). Fewer
 * than a hundred items begin immediately. A call of `map` itself is not interrupted.
 */
export async function mapInSlices<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const results: R[] = [];
  if (items.length >= MANY) await nextTurn();
  let sliceEndsAt = performance.now() + SLICE_MS;
  // Not `entries()`: its pairs were 1 % of all garbage of a bulk send.
  for (let i = 0; i < items.length; i++) {
    results.push(map(items[i] as T, i));
    if (performance.now() < sliceEndsAt) continue;
    await nextTurn();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
  return results;
}

/** A batch of fewer items costs more per item in statements than in rows. */
export const SMALL_BATCH = 300;
/** Longest wait for a batch. */
const MAX_GATHER_MS = 50;
/** Number of batches in a row that stopped growing at one size, after which their source is expected to stop there. */
const SURE = 3;
/** Every sixteenth batch waits even at its expected size, to learn whether that size still holds. */
const PROBE_EVERY = 16;

/** Gatherer of items into batches whose results are not awaited. `S` is the source of the items. */
type Gatherer<S> = {
  /** Counts an item that has arrived. */
  add(source: S): void;
  /** Ends the wait if `isAwaited` returns true now. */
  recheck(): void;
  /** Resolves when the items that have arrived are to be taken; counts the next ones for the next batch. */
  gather(): Promise<void>;
};

/** The items of one source in a batch, and the size at which its batches stop growing. */
type Source = { count: number; lastAt: number; usual: number; repeated: number };

/**
 * Creates a gatherer, which lets a batch grow until it is worth its statements: until it has 300 items, nothing has come
 * for `quietMs`, 50 ms are over, or a caller waits (`isAwaited`).
 *
 * A source that sends no more until its items get a response, such as an SMSC with a small window, is not slowed: once
 * three batches in a row have stopped growing at the same number of its items, a batch ends when that many are there.
 */
export function createGatherer<S>(quietMs: number, isAwaited: () => boolean = () => false): Gatherer<S> {
  const sources = new Map<S, Source>();
  const signal = createSignal();
  let count = 0;
  let lastAt = 0;
  let batches = 0;
  let isGathering = false;

  const isAtUsual = (source: Source): boolean => source.repeated >= SURE && source.count === source.usual;
  const canEnd = (): boolean => count >= SMALL_BATCH || isAwaited();

  function note(source: Source, now: number): void {
    if (source.count === 0) return;
    // A timer may end up to a millisecond early.
    if (now - source.lastAt > quietMs - 1) {
      source.repeated = source.count === source.usual ? source.repeated + 1 : 1;
      source.usual = source.count;
    } else if (source.count > source.usual) source.repeated = 0;
    source.count = 0;
  }

  async function untilEnd(): Promise<void> {
    const until = performance.now() + MAX_GATHER_MS;
    const isProbe = ++batches % PROBE_EVERY === 0;
    for (let before = 0; ; ) {
      // Items that have reached the process may not have been read yet.
      await afterInput();
      const restMs = Math.min(lastAt + quietMs, until) - performance.now();
      if (count === before || restMs <= 0 || canEnd() || (!isProbe && sources.values().some(isAtUsual))) return;
      before = count;
      isGathering = true;
      await signal.wait(restMs);
      isGathering = false;
    }
  }

  return {
    add(from) {
      let source = sources.get(from);
      if (!source) sources.set(from, (source = { count: 0, lastAt: 0, usual: 0, repeated: 0 }));
      source.count++;
      count++;
      source.lastAt = lastAt = performance.now();
      if (isGathering && (count >= SMALL_BATCH || isAtUsual(source))) signal.raise();
    },
    recheck() {
      if (isGathering && isAwaited()) signal.raise();
    },
    async gather() {
      await untilEnd();
      const now = performance.now();
      for (const source of sources.values()) note(source, now);
      count = 0;
    },
  };
}

/** Time after a single send for which bulk work yields. */
const RECENT_MS = 1000;
/** Maximum rest: more would make batches larger, and not shorten the waits of others. */
const MAX_REST_MS = 50;

let lastAt = Number.NEGATIVE_INFINITY;

/** Records that this process accepts or sends a single message, such as a one-time code, for which a user waits. */
export function recordSingleSend(): void {
  lastAt = performance.now();
}

/** Returns true if this process accepted or sent a single message within the last second. */
export const isSendingSingles = (): boolean => performance.now() - lastAt < RECENT_MS;

/**
 * Rests for as long as a piece of bulk work took that began at `beganAt` (`performance.now()`), at most 50 ms, while
 * single messages are sent: it leaves half of its time on the cores and in the database to them. Otherwise returns
 * immediately.
 */
export async function yieldToSingles(beganAt: number): Promise<void> {
  if (isSendingSingles()) await delay(Math.min(performance.now() - beganAt, MAX_REST_MS));
}

/** Returns the size of a piece of bulk work: a quarter of `size` while single messages are sent. */
export const bulkSize = (size: number): number => (isSendingSingles() ? Math.ceil(size / 4) : size);

/**
 * Waits for `work`, up to `ms`, and resolves with true if it has ended. Rejects as `work` does; later results are
 * ignored.
 */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a function that makes a value at its first call, and returns the same one at each further call. */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
