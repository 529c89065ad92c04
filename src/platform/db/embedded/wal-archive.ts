import { access, chown, constants, readdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createDataDir } from '../data-dir.ts';
import { StartupError } from '../startup-error.ts';
import { mayEnter, type ServerUser } from './user.ts';

/**
 * The settings with which the server archives its WAL. The module of PostgreSQL writes each segment under another name,
 * syncs it and renames it, and never replaces one with another content.
 *
 * A segment is complete after 16 MiB, or after five minutes: so much can be missing in the archive when the server is lost.
 */
export const archiveSettings = (folder: string): Readonly<Record<string, string>> => ({
  archive_mode: 'on',
  archive_library: 'basic_archive',
  'basic_archive.archive_directory': folder,
  archive_timeout: '5min',
});

/**
 * Creates the folder of the archive if it is missing, and gives an empty one to the user who runs the server. Throws a
 * StartupError if that user cannot write to it.
 */
export async function prepareArchive(folder: string, user: ServerUser | undefined): Promise<void> {
  await createDataDir(folder);
  if (user === undefined) {
    await access(folder, constants.W_OK).catch(() => {
      throw new StartupError(`WAL_ARCHIVE ${folder} cannot be written to: make this user its owner.`);
    });
    return;
  }
  if ((await readdir(folder)).length === 0) await chown(folder, user.uid, user.gid);
  const { uid } = await stat(folder);
  if (uid !== user.uid || !(await mayEnter(await realpath(dirname(folder)), user)))
    throw new StartupError(
      `User id ${user.uid}, which runs PostgreSQL, cannot write to WAL_ARCHIVE ${folder}: make it the owner (chown), and allow it to enter the parents (chmod o+x).`,
    );
}
