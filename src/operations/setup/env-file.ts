import { randomBytes } from 'node:crypto';
import { chmod, chown, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { invalidFields } from '../../platform/errors.ts';
import { parseEnvFile } from '../../platform/env-file.ts';

/** For chown: the owner stays as it is. */
const KEEP = -1;

export type Settings = Readonly<Record<string, string>>;

/** A file of settings. */
export type EnvFile = { readonly path: string; readonly text: string; readonly settings: Settings };

/** Reads a file of settings, by the rules of systemd; one that does not exist is empty. */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  return { path, text, settings: parseEnvFile(text, path) };
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
 * the old one or the new one. Errors: 400 when this user may not write to its folder.
 */
export async function writeEnvFile(path: string, text: string): Promise<void> {
  const before = await stat(path).catch(() => null);
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  const file = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
    throw isRefused(error) ? invalidFields([{ field: '--settings-file', message: notWritable(dirname(path)) }]) : error;
  });
  try {
    await file.writeFile(text);
    if (before) {
      await chown(temporary, process.getuid?.() === 0 ? before.uid : KEEP, before.gid);
      await chmod(temporary, 0o600 | (before.mode & 0o060));
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EROFS');

const notWritable = (folder: string): string =>
  `cannot be written: user id ${process.getuid?.()} may not write to ${folder}. Allow it with chgrp and chmod g+w.`;
