import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The system user that owns and runs the PostgreSQL server. */
export type ServerUser = { readonly uid: number; readonly gid: number };

/** Existing users to try, in this order; PostgreSQL packages create the second. */
const KNOWN_USERS = ['heliograph', 'postgres'];
/** Linux distributions have the first, Alpine the second. */
const CREATE_COMMANDS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['useradd', '--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'heliograph'],
  ['adduser', '-S', '-D', '-H', '-s', '/sbin/nologin', 'heliograph'],
];

/**
 * Finds the user for the server if this process is root, since PostgreSQL does not run as root: the owner of an
 * existing cluster, or an existing user `heliograph` or `postgres`, or a new system user `heliograph`, or `nobody`.
 * Undefined otherwise: the server then runs as the user of this process.
 */
export async function findServerUser(clusterDir: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDir).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of KNOWN_USERS) {
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  return (await createUser()) ?? (await lookUp('nobody'));
}

async function createUser(): Promise<ServerUser | undefined> {
  for (const [command, ...args] of CREATE_COMMANDS) {
    await run(command, args).catch(() => undefined);
    const user = await lookUp('heliograph');
    if (user !== undefined) return user;
  }
  return undefined;
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
    );
    return uid === undefined || gid === undefined || uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

/**
 * Returns true if the user may enter the folder and all its parents, by their x bits; access control lists are not
 * considered. `dir` must be a real path, without symbolic links.
 */
export async function mayEnter(dir: string, user: ServerUser): Promise<boolean> {
  const { mode, uid, gid } = await stat(dir);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(dir) === dir || mayEnter(dirname(dir), user);
}
