import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readFacts } from './facts.ts';
import { isOfSegment, placeOf, timelineOf } from './segments.ts';

/**
 * Deletes archived WAL that no restore from the backup `oldest` or from a later one needs. The histories of timelines stay,
 * and so do later timelines: after a restore to an earlier time, a later backup begins at an earlier place. Returns how many
 * files it has deleted. Throws a StartupError if `oldest` is no backup.
 */
export async function pruneArchive(walArchive: string, oldest: string): Promise<number> {
  const { firstSegment } = await readFacts(oldest);
  const names = await readdir(walArchive);
  const needless = names.filter(
    (name) =>
      isOfSegment(name) && placeOf(name) < placeOf(firstSegment) && timelineOf(name) <= timelineOf(firstSegment),
  );
  for (const name of needless) await rm(join(walArchive, name));
  return needless.length;
}
