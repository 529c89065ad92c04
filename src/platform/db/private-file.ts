import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * Returns the text of the file. If it does not exist, it is created with the result of `make`, readable only by its
 * owner (0600). Of several concurrent processes one creates it, atomically, and all read the same text.
 */
export async function readOrCreate(path: string, make: () => string): Promise<string> {
  const found = await readIfExists(path);
  if (found !== undefined) return found;
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true });
    // Unlike a rename, a link never replaces a file that another process has created in the meantime.
    await link(draft, path).catch(ignoreCode('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** Returns the text of the file, or undefined if it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreCode('ENOENT'));
}

/** Returns a handler for `catch` that turns errors with this code into undefined and rethrows others. */
export const ignoreCode =
  (code: string) =>
  (error: unknown): undefined => {
    if (!hasCode(error, code)) throw error;
  };

/** Returns true if an error is a system error with this code, such as ENOENT. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
