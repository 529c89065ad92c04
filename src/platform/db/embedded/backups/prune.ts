import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readFacts } from './facts.ts';

/**
 * Deletes the oldest backups in `folder` and keeps the `keep` newest ones; other files and folders stay. Returns the
 * names of the deleted ones, oldest first.
 */
export async function pruneBackups(folder: string, keep: number): Promise<string[]> {
  const found: { name: string; finishedAt: Date }[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    // A draft that is being written ends in .part.
    if (!entry.isDirectory() || entry.name.endsWith('.part')) continue;
    const facts = await readFacts(join(folder, entry.name)).catch(() => null);
    if (facts) found.push({ name: entry.name, finishedAt: facts.finishedAt });
  }
  const newestFirst = found.toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime());
  const old = newestFirst.slice(keep).map(({ name }) => name);
  for (const name of old.toReversed()) await rm(join(folder, name), { recursive: true });
  return old.toReversed();
}
