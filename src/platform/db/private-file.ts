import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * The text of the file; when there is none, it is created with what `make` gives, readable by its owner only (0600).
 * Of several processes at once, one creates it, whole, and all read the same text.
 */
export async function readOrCreate(path: string, make: () => string): Promise<string> {
  const found = await readIfExists(path);
  if (found !== undefined) return found;
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true });
    // Unlike a rename, a link never replaces what another process has made meanwhile.
    await link(draft, path).catch(unless('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** The text of the file, or undefined when there is no such file. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(unless('ENOENT'));
}

/** A handler for `catch` that lets errors with this code pass as undefined. */
export const unless =
  (code: string) =>
  (error: unknown): undefined => {
    if (!hasCode(error, code)) throw error;
  };

/** Whether it is a system error such as ENOENT. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
