import { createReadStream } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { FSDriver } from 'flydrive/drivers/fs';
import { checkKey, type Storage } from './storage.ts';

/**
 * The name of a file while it is written; `delete` finds it if the process dies. Keys are random, so each has one
 * writer.
 */
const unfinishedOf = (key: string): string => `${checkKey(key)}.part`;

/** Stores files in a folder on this machine, which is created with the first file. */
export function createLocalStorage(folder: string): Storage {
  const driver = new FSDriver({ location: folder, visibility: 'private' });

  async function put(key: string, content: Readable | Uint8Array): Promise<number> {
    const unfinished = unfinishedOf(key);
    try {
      const source = content instanceof Readable ? content : Readable.from([content]);
      // FlyDrive would create a new folder readable by everyone.
      await mkdir(dirname(join(folder, key)), { recursive: true, mode: 0o700 });
      await driver.putStream(unfinished, source);
      const sizeBytes = await sync(join(folder, unfinished));
      await rename(join(folder, unfinished), join(folder, key));
      await sync(dirname(join(folder, key)));
      return sizeBytes;
    } catch (error) {
      await driver.delete(unfinished).catch(() => undefined);
      throw error;
    }
  }

  return {
    put,
    async get(key, range) {
      // FlyDrive reads whole files only.
      const file = await open(join(folder, checkKey(key)));
      return createReadStream('', { fd: file, ...range });
    },
    async stat(key) {
      if (!(await driver.exists(checkKey(key)))) return undefined;
      return { sizeBytes: (await driver.getMetaData(key)).contentLength };
    },
    exists: (key) => driver.exists(checkKey(key)),
    async delete(key) {
      await driver.delete(unfinishedOf(key));
      await driver.delete(key);
    },
    close: async () => undefined,
  };
}

/** Flushes a file, or the entries of a folder, to disk: a row that is committed later must not outlive its file. */
async function sync(path: string): Promise<number> {
  await using file = await open(path);
  await file.sync();
  return (await file.stat()).size;
}
