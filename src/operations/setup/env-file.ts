import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, chmod, chown, constants, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { invalidFields } from '../../platform/errors.ts';
import { parseEnvFile } from '../../platform/env-file.ts';
import { hasCode, ignoreCode } from '../../platform/db/private-file.ts';

/** For chown: the owner stays as it is. */
const KEEP = -1;

export type Settings = Readonly<Record<string, string>>;

/** A file of settings. */
export type EnvFile = { readonly path: string; readonly text: string; readonly settings: Settings };

/**
 * Reads a file of settings, by the rules of systemd; one that does not exist is empty. Errors: 400 when it cannot be read, or
 * when this user could not write it, so that nobody answers questions in vain.
 */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await readFile(path, 'utf8')
    .catch(ignoreCode('ENOENT'))
    .catch((error: unknown) => refuse(path, 'cannot be read', error));
  const folder = dirname(await behindLinks(path));
  await access(folder, constants.W_OK).catch((error: unknown) => refuse(path, 'cannot be written', error));
  return { path, text: text ?? '', settings: parseEnvFile(text ?? '', path) };
}

/** Returns the text with more settings at its end. What is there stays as it is, comments included. */
export function withSettings(text: string, more: Settings): string {
  const lines = Object.entries(more).map(([name, value]) => `${name}=${quoted(value)}\n`);
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('')}`;
}

/** Between single quotes everything stands for itself, but they cannot hold one; between double quotes these are protected. */
const quoted = (value: string): string =>
  /^[\w@%+=:,./-]*$/.test(value)
    ? value
    : value.includes("'")
      ? `"${value.replace(/["\\`$]/g, '\\$&')}"`
      : `'${value}'`;

/**
 * Writes a file of settings, readable by its owner alone (mode 0600); one that exists keeps its group and what the group may,
 * and if root writes it, its owner. It is replaced as a whole and is on the disk when this resolves, so that a crash leaves
 * the old one or the new one. A symbolic link stays one: what it leads to is written. Errors: 400 when this user may not
 * write to its folder, or the file cannot be replaced; nothing is left behind then.
 */
export async function writeEnvFile(path: string, text: string): Promise<void> {
  const target = await behindLinks(path);
  const temporary = `${target}.${randomBytes(4).toString('hex')}`;
  try {
    await writeAs(temporary, text, await stat(target).catch(() => null));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    refuse(path, 'cannot be written', error);
  }
}

async function writeAs(path: string, text: string, before: Stats | null): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    if (before) {
      await chown(path, process.getuid?.() === 0 ? before.uid : KEEP, before.gid);
      await chmod(path, 0o600 | (before.mode & 0o060));
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

const behindLinks = async (path: string): Promise<string> => (await realpath(path).catch(ignoreCode('ENOENT'))) ?? path;

/** A file that a container mounts by itself cannot be replaced: EBUSY. */
function refuse(path: string, what: string, error: unknown): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const folder = dirname(path);
  const cure = hasCode(error, 'EBUSY')
    ? 'It is mounted by itself: mount its folder.'
    : hasCode(error, 'EACCES') || hasCode(error, 'EPERM') || hasCode(error, 'EROFS')
      ? `User id ${process.getuid?.()} needs the right to read and write in ${folder}: chgrp and chmod give it.`
      : 'Name a file in a folder that exists.';
  throw invalidFields([{ field: '--settings-file', message: `${path} ${what} (${String(error.code)}). ${cure}` }]);
}
