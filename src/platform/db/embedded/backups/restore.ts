import { chown, readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import pg from 'pg';
import type { Log } from '../../../lib/log.ts';
import { createDataDir } from '../../data-dir.ts';
import type { Db } from '../../query.ts';
import { StartupError } from '../../startup-error.ts';
import { findBinaries } from '../binaries.ts';
import { clusterPath, hasCluster, installCluster, passwordPath } from '../cluster.ts';
import { ensureRunning, type Site, stopAndWait } from '../process.ts';
import { SUPERUSER } from '../settings.ts';
import { findServerUser, type ServerUser } from '../user.ts';
import { copyDurably, copyFolder } from './copy-folder.ts';
import { type BackupFacts, readFacts } from './facts.ts';

export type RestoreOptions = {
  readonly dataDir: string;
  /** A folder that `createBackup` has written. */
  readonly from: string;
  readonly log: Log;
  /**
   * Called with a session of the restored database, which nothing else uses yet: the database appears once this has
   * resolved.
   */
  readonly beforeUse?: (db: Db) => Promise<unknown>;
  /** False (only in tests) means that a power cut may lose data. */
  readonly durable?: boolean;
};

/** Replaying the changes made while a large database was copied takes a while. */
const REPLAY_TIMEOUT_MS = 86_400_000;

/**
 * Restores the backup `from` as the database of `dataDir`, which must have none, in its state when the backup was
 * finished. The database appears when it is complete, `beforeUse` has resolved, and its server has stopped. The caller
 * decides in `beforeUse` if it may send its queued messages: a program may start as soon as the database exists.
 *
 * Throws a StartupError if `from` is not a backup, or if there is a database already; then nothing has changed.
 */
export async function restoreBackup(options: RestoreOptions): Promise<BackupFacts> {
  const { dataDir, from, log } = options;
  const facts = await readFacts(from);
  await createDataDir(dataDir);
  const exists = new StartupError(`${clusterPath(dataDir)} exists: stop the program, and move that folder away first.`);
  if (await hasCluster(dataDir)) throw exists;
  const user = await findServerUser(clusterPath(dataDir));
  const installed = await installCluster({ dataDir, user, log }, async (dir) => {
    await copyFolder(join(from, 'postgres'), dir);
    if (user !== undefined) await giveTo(user, dir);
    await replay(dir, user, options);
    await copyDurably(join(from, basename(passwordPath(dataDir))), passwordPath(dataDir));
  });
  if (!installed) throw exists;
  return facts;
}

async function giveTo(user: ServerUser, dir: string): Promise<void> {
  await chown(dir, user.uid, user.gid);
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true }))
    await chown(join(entry.parentPath, entry.name), user.uid, user.gid);
}

/**
 * Runs the server on the copy until it has replayed the WAL of the backup, and ends it. The server does not start if a
 * part of that is missing.
 */
async function replay(dir: string, user: ServerUser | undefined, options: RestoreOptions): Promise<void> {
  const { dataDir, from, beforeUse, durable = true } = options;
  const site: Site = {
    clusterDir: dir,
    logFile: join(resolve(dataDir), 'postgres.log'),
    postgres: (await findBinaries(user)).postgres,
    user,
    durable,
    startTimeoutMs: REPLAY_TIMEOUT_MS,
  };
  try {
    const { port } = await ensureRunning(site);
    if (beforeUse) await onServer(port, await readFile(passwordPath(from), 'utf8'), beforeUse);
  } finally {
    await stopAndWait(dir);
  }
}

async function onServer<T>(port: number, password: string, work: (db: Db) => Promise<T>): Promise<T> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: SUPERUSER, password, database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}
