import { randomBytes } from 'node:crypto';
import { access, chmod, chown, constants, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, ignoreCode } from '../../platform/db/private-file.ts';
import { parseEnvFile } from '../../platform/env-file.ts';
import { invalidFields } from '../../platform/errors.ts';

export type Settings = Readonly<Record<string, string>>;

/** A file of settings. */
export type EnvFile = { readonly path: string; readonly text: string; readonly settings: Settings };

/**
 * Reads a file of settings, by the rules of systemd; one that does not exist is empty. Errors: 400 when it cannot be
 * read, or when this user could not write it: better before the questions than after them.
 */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await readFile(path, 'utf8')
    .catch(ignoreCode('ENOENT'))
    .catch((error: unknown) => refuse(path, 'cannot be read', error));
  await access(dirname(await behindLinks(path)), constants.W_OK).catch((error: unknown) =>
    refuse(path, 'cannot be written', error),
  );
  return { path, text: text ?? '', settings: parseEnvFile(text ?? '', path) };
}

/**
 * Adds settings at the end of the file; its content is unchanged, comments included. The file is readable by its owner
 * alone (mode 0600); one that exists keeps its group and the group's permissions, and if root writes it, its owner. It
 * is replaced as a whole, and a symbolic link stays one. Errors: 400 when it cannot be replaced; nothing is left behind
 * then.
 */
export async function addSettings({ path, text }: EnvFile, more: Settings): Promise<void> {
  const lines = Object.entries(more).map(([name, value]) => `${name}=${quoted(value)}\n`);
  if (lines.length === 0) return;
  const target = await behindLinks(path);
  const draft = `${target}.${randomBytes(4).toString('hex')}`;
  try {
    const before = await stat(target).catch(ignoreCode('ENOENT'));
    const whole = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('')}`;
    await writeFile(draft, whole, { mode: 0o600, flag: 'wx', flush: true });
    // -1: the owner stays as it is.
    if (before) await chown(draft, process.getuid?.() === 0 ? before.uid : -1, before.gid);
    if (before) await chmod(draft, 0o600 | (before.mode & 0o060));
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    refuse(path, 'cannot be written', error);
  }
}

/**
 * Quotes a value. Between single quotes everything stands for itself, but they cannot contain one; between double
 * quotes these are escaped.
 */
const quoted = (value: string): string =>
  /^[\w@%+=:,./-]*$/.test(value)
    ? value
    : value.includes("'")
      ? `"${value.replace(/["\\`$]/g, '\\$&')}"`
      : `'${value}'`;

const behindLinks = async (path: string): Promise<string> => (await realpath(path).catch(ignoreCode('ENOENT'))) ?? path;

function refuse(path: string, what: string, error: unknown): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const cure = hasCode(error, 'ENOENT')
    ? 'Name a file in a folder that exists.'
    : `User id ${process.getuid?.()} needs the right to read and write in ${dirname(path)}.`;
  throw invalidFields([{ field: '--settings-file', message: `${path} ${what} (${String(error.code)}). ${cure}` }]);
}
