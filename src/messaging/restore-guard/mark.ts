import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createDataDir } from '../../platform/db/data-dir.ts';
import { readIfExists } from '../../platform/db/private-file.ts';

/** Record that a machine keeps of the database it last worked on. */
export type Mark = {
  readonly machine: string;
  readonly generation: number;
  readonly database: string;
};

/** A mark that was read from its file. */
export type FoundMark = Mark & {
  /** True if the file came with a copy of the folder and was not written here. */
  readonly copied: boolean;
};

/**
 * Size of the file: less than a sector, so that a power cut leaves the old text or the new one. It is fixed, because
 * the file is written in place.
 */
const FILE_BYTES = 400;

const pathOf = (dataDir: string): string => join(dataDir, 'fence.json');

/**
 * Reads DATA_DIR/fence.json; null when there is no such file or its content is not valid. The mark contains the time at
 * which the file was created, which no copy keeps (cp, tar, rsync): a mark with another time is a copy. On a file
 * system that does not record that time, it is 0 everywhere.
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

/**
 * Writes DATA_DIR/fence.json in place, because a new file would have another creation time. Only the owner may read it.
 * The content is on the disk when this resolves.
 */
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
