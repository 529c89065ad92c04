import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Opens an unnamed file in DATA_DIR: no other process can find it, and it is gone when it is closed or the process
 * ends, for any reason.
 *
 * await using file = await openTemporary(config.dataDir);
 */
export async function openTemporaryFile(dataDir: string): Promise<FileHandle> {
  const folder = join(dataDir, 'uploads');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
