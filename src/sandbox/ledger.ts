import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';

/** The position and the time of a ledger entry. */
export type Stamp = {
  /** Position in the ledger, from 1; entries of all kinds share the numbers. */
  readonly n: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** Content and location of a ledger. */
export type LedgerOptions = {
  /** `counts` keeps no entries in memory: for benches and long runs. */
  readonly keep: 'entries' | 'counts';
  /** A file to which entries are appended as lines of JSON (`readLedgerFile`). Independent of `keep`. */
  readonly file?: string | undefined;
};

/** The reading side of a simulator's ledger. */
export type Ledger<Entry, Counter extends string> = {
  /** Returns all entries in order; an empty list when only counts are kept. */
  entries(): readonly Entry[];
  counts(): Record<Counter, number>;
  /** Returns the number of responses to messages by their code or status. */
  answers(): Readonly<Record<string, number>>;
  /** Writes the buffer to the file. */
  flush(): void;
};

/** The writing side, for the simulators themselves. */
export type LedgerWriter<Entry, Counter extends string> = Ledger<Entry, Counter> & {
  count(name: Counter, by?: number): void;
  countAnswer(answer: string | number): void;
  /** Adds an entry; returns null, without building one, when none are kept. */
  add<E extends Entry>(build: (stamp: Stamp) => E): E | null;
  /** Changes an entry, if there is one, also in the file. */
  change<E extends Entry>(entry: E | null, fields: Partial<E>): void;
  close(): void;
};

/**
 * Creates the record of all messages, responses and callbacks of a simulator, with which a proof compares the gateway's
 * data. An entry is written before the response is sent. With neither entries nor a file it only counts.
 */
export function createLedger<Entry extends Stamp, Counter extends string>(
  { keep, file: path }: LedgerOptions,
  zero: Readonly<Record<Counter, number>>,
): LedgerWriter<Entry, Counter> {
  const kept: Entry[] = [];
  const counts: Record<Counter, number> = { ...zero };
  const answers: Record<string, number> = {};
  const file = path ? openLedgerFile(path) : null;
  let n = 0;
  return {
    entries: () => kept,
    counts: () => ({ ...counts }),
    answers: () => ({ ...answers }),
    flush: () => file?.flush(),
    close: () => file?.close(),
    count(name, by = 1) {
      counts[name] += by;
    },
    countAnswer(answer) {
      answers[answer] = (answers[answer] ?? 0) + 1;
    },
    add(build) {
      if (keep === 'counts' && file === null) return null;
      const entry = build({ n: ++n, at: Date.now() });
      if (keep === 'entries') kept.push(entry);
      file?.append(entry);
      return entry;
    },
    change(entry, fields) {
      if (!entry) return;
      Object.assign(entry, fields);
      file?.append({ kind: 'change', n: entry.n, ...fields });
    },
  };
}

/** A change of an entry after its own line. */
export type Change = { readonly kind: 'change'; readonly n: number; readonly [field: string]: unknown };
/** The start of a run of the simulator, whose entries count from 1 again. */
export type Start = { readonly kind: 'start'; readonly at: number };

type LedgerFile = {
  append(line: Stamp | Change): void;
  /** Writes the buffer to the file. */
  flush(): void;
  close(): void;
};

const BUFFER_CHARACTERS = 64 * 1024;
const FLUSH_MS = 50;

/**
 * Opens a file to append lines of JSON, through a buffer of 64 KiB that is written when it is full or 50 ms after its
 * first line. Writes are synchronous: they go to the page cache (tens of microseconds), stay in order, and limit the
 * memory.
 */
function openLedgerFile(path: string): LedgerFile {
  const file = openSync(path, 'a', 0o600);
  const start: Start = { kind: 'start', at: Date.now() };
  // A killed run may have left an incomplete line: the new run must not continue it.
  let buffer = `${fstatSync(file).size > 0 ? '\n' : ''}${JSON.stringify(start)}\n`;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (buffer !== '') writeSync(file, buffer);
    buffer = '';
  }

  return {
    append(line) {
      if (closed) return;
      buffer += `${JSON.stringify(line)}\n`;
      if (buffer.length >= BUFFER_CHARACTERS) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush: () => (closed ? undefined : flush()),
    close() {
      if (closed) return;
      flush();
      closed = true;
      closeSync(file);
    },
  };
}
