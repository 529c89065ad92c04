import type { Readable } from 'node:stream';

/** Octets of a file, both ends included. */
export type Range = { readonly start: number; readonly end: number };

/** Where files are kept: a folder of this machine, or an S3-compatible store. */
export type Storage = {
  /**
   * Writes a whole file, or replaces it, and answers how many bytes it has. It is there entirely or not at all, also when
   * the process ends in between. A stream may be of any length: memory stays flat.
   */
  put(key: string, content: Readable | Uint8Array, options: { readonly contentType: string }): Promise<number>;
  /** Rejects when there is no such file. */
  get(key: string, range?: Range): Promise<Readable>;
  stat(key: string): Promise<{ readonly sizeBytes: number } | undefined>;
  exists(key: string): Promise<boolean>;
  /** One that is not there is no error. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
};

/** Of parts with slashes between them, none of which leads out of the store. Keys are made by us, never of a user's text. */
const KEY = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9._-]*)+$/;

export function checkKey(key: string): string {
  if (!KEY.test(key) || key.length > 500) throw new Error(`"${key}" is no key of a stored file`);
  return key;
}
