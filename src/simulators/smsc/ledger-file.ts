import { closeSync, createReadStream, fstatSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LedgerEntry } from './ledger-entries.ts';

/** A change of an entry after its own line. */
type Change = { readonly kind: 'change'; readonly n: number; readonly [field: string]: unknown };
/** The start of a run of the simulator, whose entries count from 1 again. */
type Start = { readonly kind: 'start'; readonly at: number };

/** An open ledger file. */
export type LedgerFile = {
  append(line: LedgerEntry | Change): void;
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
export function openLedgerFile(path: string): LedgerFile {
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

/**
 * Reads the entries of all runs in a ledger file, in order, with their changes applied. `n` counts within a run. A line
 * that a kill left incomplete is skipped.
 */
export async function readLedgerFile(path: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  let earlier = 0;
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = parseLine(text);
    if (line?.kind === 'start') earlier = entries.length;
    else if (line?.kind === 'change') applyChange(entries[earlier + line.n - 1], line);
    else if (line) entries.push(line);
  }
  return entries;
}

function applyChange(entry: LedgerEntry | undefined, line: Change): void {
  if (entry) Object.assign(entry, line, { kind: entry.kind });
}

function parseLine(text: string): LedgerEntry | Change | Start | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
