import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LedgerEntry } from './ledger-entries.ts';

/** What an entry became after its own line. */
type Change = { readonly kind: 'change'; readonly n: number; readonly [field: string]: unknown };

export type LedgerFile = {
  append(line: LedgerEntry | Change): void;
  flush(): void;
  close(): void;
};

const BUFFER_CHARACTERS = 64 * 1024;
const FLUSH_MS = 50;

/**
 * Starts the file anew. Lines of JSON with a buffer of 64 KiB, brought to the file when it is full and 50 ms after its first line.
 * Writes are synchronous: they go to the page cache (tens of microseconds), stay in order, and bound the memory.
 */
export function openLedgerFile(path: string): LedgerFile {
  const file = openSync(path, 'w', 0o600);
  let buffer = '';
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (buffer !== '') writeSync(file, buffer);
    buffer = '';
  }

  return {
    append(line) {
      buffer += `${JSON.stringify(line)}\n`;
      if (buffer.length >= BUFFER_CHARACTERS) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush,
    close() {
      flush();
      closeSync(file);
    },
  };
}

/** The entries of a ledger file in order, each with what it became. A last line cut in half is left out. */
export async function readLedgerFile(path: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = parseLine(text);
    if (!line) continue;
    if (line.kind !== 'change') entries[line.n - 1] = line;
    else Object.assign(entries[line.n - 1] ?? {}, line, { kind: entries[line.n - 1]?.kind });
  }
  return entries;
}

function parseLine(text: string): LedgerEntry | Change | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
