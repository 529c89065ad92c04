import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createDataDir } from '../../platform/db/data-dir.ts';
import { readIfExists } from '../../platform/db/private-file.ts';

/** What a machine remembers of the database that it worked on last. */
export type Mark = {
  readonly machine: string;
  readonly generation: number;
  readonly database: string;
};

export type FoundMark = Mark & {
  /** The file was not written here: it came with a copy of the folder. */
  readonly copied: boolean;
};

/** Less than a sector, so that a power cut leaves the old text or the new one; always the same, so that it fits. */
const FILE_BYTES = 400;

const pathOf = (dataDir: string): string => join(dataDir, 'fence.json');

/**
 * DATA_DIR/fence.json; null when there is none, or none that can be read, which counts as none. It names the time at
 * which the file itself was made, which no copy keeps (cp, tar, rsync): a mark with another time is a copy. Where the
 * file system does not know that time it is 0 for all.
 */
export async function readMark(dataDir: string): Promise<FoundMark | null> {
  const text = await readIfExists(pathOf(dataDir));
  if (text === undefined) return null;
  const mark = parse(text);
  if (mark === null) return null;
  const { birthtimeNs } = await stat(pathOf(dataDir), { bigint: true });
  const { born, ...rest } = mark;
  return { ...rest, copied: born !== String(birthtimeNs) };
}

type Stored = Mark & { readonly born: string };

function parse(text: string): Stored | null {
  try {
    const mark: unknown = JSON.parse(text);
    return isStored(mark) ? mark : null;
  } catch {
    return null;
  }
}

const isStored = (mark: unknown): mark is Stored =>
  typeof mark === 'object' &&
  mark !== null &&
  'machine' in mark &&
  typeof mark.machine === 'string' &&
  'generation' in mark &&
  typeof mark.generation === 'number' &&
  'database' in mark &&
  typeof mark.database === 'string' &&
  'born' in mark &&
  typeof mark.born === 'string';

/** Writes it in place, for its owner only: a new file would have another birth. On disk when this resolves. */
export async function writeMark(dataDir: string, mark: Mark): Promise<void> {
  await createDataDir(dataDir);
  const file = await open(pathOf(dataDir), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { birthtimeNs } = await file.stat({ bigint: true });
    const text = JSON.stringify({ ...mark, born: String(birthtimeNs) });
    await file.write(`${text.padEnd(FILE_BYTES - 1)}\n`, 0);
    await file.datasync();
  } finally {
    await file.close();
  }
}
