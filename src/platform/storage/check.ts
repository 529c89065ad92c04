import { buffer } from 'node:stream/consumers';
import { newId } from '../lib/ids.ts';
import { findSetupFault } from './s3-faults.ts';
import type { Storage } from './storage.ts';

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
