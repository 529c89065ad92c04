import type { Readable } from 'node:stream';

/** A range of the bytes of a file, both ends included. */
export type Range = { readonly start: number; readonly end: number };

/** A store of files: a folder on this machine, or an S3-compatible store. */
export type Storage = {
  /**
   * Writes or replaces a file and returns its size in bytes. The file exists completely or not at all, even if the
   * process dies while writing. A stream may have any length: memory use stays constant.
   */
  put(key: string, content: Readable | Uint8Array, options: { readonly contentType: string }): Promise<number>;
  /** Reads a file or a range of it. Rejects if the file does not exist. */
  get(key: string, range?: Range): Promise<Readable>;
  /** Returns the size of a file; undefined if it does not exist. */
  stat(key: string): Promise<{ readonly sizeBytes: number } | undefined>;
  exists(key: string): Promise<boolean>;
  /** Deletes a file; a file that does not exist is not an error. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
};

/**
 * At least two segments separated by slashes, none of which leads out of the store. Keys never contain a user's text.
 */
const KEY = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9._-]*)+$/;

/** Returns the key, or throws if it is not a valid key of a stored file. */
export function checkKey(key: string): string {
  if (!KEY.test(key) || key.length > 500) throw new Error(`"${key}" is not a valid key of a stored file`);
  return key;
}
