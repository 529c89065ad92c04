import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Log } from '../../lib/log.ts';
import { type Binaries, SYSTEM_DIR } from './binaries.ts';
import { findServer, isAlive, startFailure, stopServer } from './process.ts';
import { initdbArguments } from './settings.ts';
import { mayEnter, type ServerUser } from './user.ts';
import { readIfExists, readOrCreate, ignoreCode } from '../private-file.ts';
import { StartupError } from '../startup-error.ts';
import { operatingSystem } from '../../lib/operating-system.ts';

const run = promisify(execFile);

export type ClusterOptions = {
  readonly dataDir: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
  readonly log: Log;
  /** Aborts the creation of a cluster. */
  readonly signal?: AbortSignal | undefined;
};

/** Returns the path of the cluster: a folder, or a symbolic link to one in /var/lib/heliograph. */
export const clusterPath = (dataDir: string): string => join(dataDir, 'postgres');
/** The file in a cluster outside its DATA_DIR that contains the path of that DATA_DIR. */
export const OWNER_FILE = 'DATA_DIR';
/** The file in DATA_DIR with the password of the superuser. */
export const passwordPath = (dataDir: string): string => join(dataDir, 'postgres.password');

/**
 * Returns the cluster of `dataDir`, created if there is none, and the password of its superuser. Of several concurrent
 * processes only one creates it; an interrupted creation leaves nothing that the next one would mistake for a cluster.
 * Throws a StartupError if the cluster belongs to another major version or if the server's user cannot reach it.
 */
export async function openCluster(options: ClusterOptions): Promise<{ clusterDir: string; password: string }> {
  const path = clusterPath(options.dataDir);
  if ((await realDir(path)) === undefined) await createCluster(options);
  const clusterDir = (await realDir(path)) ?? path;
  await checkVersion(clusterDir, options.binaries.major);
  if (options.user !== undefined && !(await mayEnter(dirname(clusterDir), options.user))) {
    throw new StartupError(
      `User id ${options.user.uid}, which runs PostgreSQL, may not enter ${dirname(clusterDir)}: allow it with chmod o+x on the folder and its parents.`,
    );
  }
  const password = await readIfExists(passwordPath(options.dataDir));
  if (password !== undefined) return { clusterDir, password };
  throw new StartupError(`${passwordPath(options.dataDir)}, the password of ${clusterDir}, is missing: restore it.`);
}

/** Returns true if DATA_DIR contains a cluster, of any version and in any condition. */
export const hasCluster = async (dataDir: string): Promise<boolean> =>
  (await realDir(clusterPath(dataDir))) !== undefined;

const realDir = (path: string): Promise<string | undefined> => realpath(path).catch(ignoreCode('ENOENT'));

async function checkVersion(clusterDir: string, major: string): Promise<void> {
  const found = (await readIfExists(join(clusterDir, 'PG_VERSION')))?.trim();
  if (found === major) return;
  throw new StartupError(
    found === undefined
      ? `${clusterDir} contains no PostgreSQL data: move the folder away, or set DATA_DIR to another one.`
      : `The data in ${clusterDir} is from PostgreSQL ${found}, and this program has PostgreSQL ${major}: start the release that created it, or set DATA_DIR to another folder.`,
  );
}

async function createCluster(options: ClusterOptions): Promise<void> {
  const { dataDir, log } = options;
  const password = await readOrCreate(passwordPath(dataDir), () => randomBytes(24).toString('base64url'));
  log.info({ dir: clusterPath(dataDir) }, 'creating the database');
  await installCluster(options, (dir) => initialise(dir, password, options));
}

/**
 * Runs `fill` on a new folder and, once complete, moves it atomically to the place of the cluster of `dataDir`: in
 * DATA_DIR, or outside it if the server's user may not enter it. Returns false if another process was faster: its
 * cluster stays.
 */
export async function installCluster(
  options: Pick<ClusterOptions, 'dataDir' | 'user' | 'log'>,
  fill: (dir: string) => Promise<void>,
): Promise<boolean> {
  const { dataDir, user, log } = options;
  const path = clusterPath(dataDir);
  if (user === undefined || (await mayEnter(await realpath(dataDir), user))) {
    await removeDrafts(dataDir);
    const draft = join(await realpath(dataDir), `postgres.new-${process.pid}`);
    await fillOrRemove(draft, fill);
    // Fails if another process was faster: a rename does not replace a folder that is not empty.
    return orRemove(draft, rename(draft, path));
  }
  const target = await systemDirFor(dataDir, log);
  await fillOrRemove(target, fill);
  // Readable by all who may enter the cluster: the server's user copies it in backups.
  await writeFile(join(target, OWNER_FILE), await realpath(dataDir), { mode: 0o644 });
  return orRemove(target, symlink(target, path));
}

async function fillOrRemove(dir: string, fill: (dir: string) => Promise<void>): Promise<void> {
  try {
    await fill(dir);
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

const orRemove = (dir: string, installed: Promise<void>): Promise<boolean> =>
  installed.then(
    () => true,
    () => rm(dir, { recursive: true }).then(() => false),
  );

/** Removes the remains of interrupted starts; drafts of processes that are still running stay. */
async function removeDrafts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const pid = Number(/^postgres\.new-(\d+)/.exec(name)?.[1]);
    if (Number.isNaN(pid) || (pid !== process.pid && isAlive(pid))) continue;
    // Its initdb may still run for a moment.
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * Returns a new place outside `dataDir`, for a server user who may not enter it: we must not change the permissions of
 * folders such as /root. Clusters of an earlier folder of the same name are stopped, and their data stays.
 */
async function systemDirFor(dataDir: string, log: Log): Promise<string> {
  const hash = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex')
    .slice(0, 16);
  await mkdir(SYSTEM_DIR, { recursive: true, mode: 0o755 });
  for (const name of await readdir(SYSTEM_DIR)) {
    const earlier = join(SYSTEM_DIR, name);
    if (!name.startsWith(`${hash}-`) || (await findServer(earlier)) === undefined) continue;
    log.warn({ dir: earlier }, 'stopping the database of an earlier DATA_DIR with this name; its data stays there');
    await stopServer(earlier);
  }
  const target = join(SYSTEM_DIR, `${hash}-${Date.now().toString(36)}`);
  log.warn({ dir: target }, 'the database is stored here, since the user that runs it may not enter DATA_DIR');
  return target;
}

async function initialise(dir: string, password: string, options: ClusterOptions): Promise<void> {
  const { binaries, user, durable, signal } = options;
  const passwordFile = `${dir}.password`;
  try {
    await mkdir(dir, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (user !== undefined) await Promise.all([dir, passwordFile].map((path) => chown(path, user.uid, user.gid)));
    await run(binaries.initdb, initdbArguments({ dir, passwordFile, durable, major: binaries.major }), {
      ...user,
      cwd: operatingSystem().root,
      env: operatingSystem().environment,
      signal,
    });
  } catch (error) {
    throw isProcessFailure(error)
      ? startFailure(error.stderr || error.message, { clusterDir: dirname(dir), logFile: basename(dir) })
      : error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

const isProcessFailure = (error: unknown): error is Error & { stderr: string } =>
  error instanceof Error && 'stderr' in error && typeof error.stderr === 'string';
