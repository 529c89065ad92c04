import { endsWithin } from '../platform/lib/background/ends-within.ts';

/** Signals from outside that end a program. */
export type Stopping = {
  /** Aborted when the program should stop, even while it is still starting. */
  readonly signal: AbortSignal;
  /** Adds work that may still run for up to a second when the process ends immediately. */
  onHalt(halt: () => Promise<unknown>): void;
};

/** Signals of a program that ends only by its own `stop`, as in tests. */
export const NEVER_STOPPING: Stopping = { signal: new AbortController().signal, onHalt: () => undefined };

/** Under npm, Ctrl+C arrives twice: from the terminal and through npm. Within this time both count as one. */
const DUPLICATE_SIGNAL_MS = 1000;
const HALT_MS = 1000;

type SignalSource = { on(signal: NodeJS.Signals, listener: () => void): unknown; exit(code: number): unknown };

/**
 * Follows SIGTERM and SIGINT. The first one aborts `signal` and resolves `stopped`. Another one more than a second
 * later ends the process with exit code 1, as soon as the work given to `onHalt` has ended, or a second later.
 */
export function followStopSignals(
  own: SignalSource = process,
  now = () => performance.now(),
): Stopping & { readonly stopped: Promise<void> } {
  const stop = new AbortController();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const halts: (() => Promise<unknown>)[] = [];
  let firstAt: number | undefined;
  const receive = (): void => {
    firstAt ??= now();
    if (now() - firstAt > DUPLICATE_SIGNAL_MS) {
      const halted = Promise.allSettled(halts.map((halt) => halt()));
      void endsWithin(halted, HALT_MS).finally(() => own.exit(1));
    }
    stop.abort();
    resolve();
  };
  own.on('SIGTERM', receive);
  own.on('SIGINT', receive);
  return { signal: stop.signal, stopped, onHalt: (halt) => void halts.push(halt) };
}

/** Rejects when the signal is aborted, even if `work` has not ended by then. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Everything except the built-in PostgreSQL is closed, or abandoned, within this time. */
const CLOSE_MS = 9000;
/** Time reserved for the built-in PostgreSQL, however long the rest took. */
const DATABASE_MS = 5500;

type Step = { readonly name: string; readonly close: () => Promise<unknown>; readonly ownMs: number };

/** Open resources, to be closed in reverse order. */
export type Closers = {
  /** `name` is shown to the operator if it does not close. */
  add(name: string, close: () => Promise<unknown>): void;
  /** Adds the built-in PostgreSQL, which is stopped whatever happens before. */
  addDatabase(close: () => Promise<unknown>): void;
  /**
   * Closes everything within 15 seconds. One that fails, or does not end in time, does not keep the others open.
   * Rejects at the end with an error that names those. Called again, it closes what was added since.
   */
  closeAll(): Promise<void>;
};

/** Creates an empty list; `closeMs` is the time limit for closing everything except the database. */
export function createClosers(closeMs = CLOSE_MS): Closers {
  let steps: Step[] = [];
  return {
    add: (name, close) => void steps.push({ name, close, ownMs: 0 }),
    addDatabase: (close) => void steps.push({ name: 'database', close, ownMs: DATABASE_MS }),
    async closeAll() {
      const all = steps.toReversed();
      steps = [];
      const deadline = performance.now() + closeMs;
      const faults: string[] = [];
      for (const { name, close, ownMs } of all) {
        const restMs = Math.max(0, deadline - performance.now());
        const ended = endsWithin(close(), restMs + ownMs);
        const fault = await ended.then((inTime) => (inTime ? null : 'did not end in time'), String);
        if (fault !== null) faults.push(`${name}: ${fault}`);
      }
      if (faults.length > 0) throw new Error(`The program did not stop cleanly (${faults.join('; ')}).`);
    },
  };
}

/** Time for which a process may outlive its last step. */
const LINGER_MS = 1000;

/** Ends the process in a second with its exit code, if abandoned work still keeps it alive. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref();
}
