import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Change, Start } from '../../src/sandbox/ledger.ts';
import type { LedgerEntry } from '../../src/sandbox/smsc-ledger.ts';

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
