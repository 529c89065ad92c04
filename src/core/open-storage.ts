import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Config } from './config.ts';
import { newId } from './ids.ts';
import { createLocalStorage, findSetupFault, namingSetupFaults, type Storage } from './storage.ts';

/** Opens the configured storage. The S3 SDK takes 100 ms and 20 MB to load, so it is loaded only if needed. */
export async function openStorage({ storage, dataDir }: Pick<Config, 'storage' | 'dataDir'>): Promise<Storage> {
  if (storage.kind === 'file') return createLocalStorage(join(dataDir, 'files'));
  const { createS3Storage } = await import('./storage-s3.ts');
  return namingSetupFaults(createS3Storage(storage));
}

/**
 * Writes, reads and deletes a small file, as the program does with all files.
 *
 * @returns the error for the operator; undefined if there is none
 */
export async function findStorageFault(storage: Storage): Promise<string | undefined> {
  const key = `checks/${newId()}`;
  const content = Buffer.from(key);
  try {
    await storage.put(key, content, { contentType: 'text/plain' });
    const read = await buffer(await storage.get(key));
    await storage.delete(key);
    return read.equals(content) ? undefined : 'a file is not read as it was written';
  } catch (error) {
    return findSetupFault(error) ?? reasonOf(error);
  }
}

/** Returns the innermost message: the outer ones only state that a file could not be written. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
