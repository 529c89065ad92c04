import { chown, readdir, readFile, writeFile } from 'node:fs/promises';
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
import { archiveSettings, prepareArchive } from '../wal-archive.ts';
import { copyDurably, copyFolder } from './copy-folder.ts';
import { readFacts } from './facts.ts';
import { findBranch, listWal, placeOf, timelineOf } from './segments.ts';
import { findRecovery } from './sql.ts';

export type RestoreOptions = {
  readonly dataDir: string;
  /** A folder that `createBackup` has written. */
  readonly from: string;
  /** The folder from which archived WAL is read, if there is one. */
  readonly wal: string | undefined;
  /** The folder in which the restored database archives its own WAL, if it does; it may be the same. */
  readonly walArchive: string | undefined;
  /** The time to restore to; if absent, everything that was archived. */
  readonly time: Date | undefined;
  readonly log: Log;
  /** Is given a session of the restored database, which nobody else uses yet: the database appears once this has resolved. */
  readonly beforeUse?: (db: Db) => Promise<unknown>;
  /** False (only in tests) means that a power cut may lose data. */
  readonly durable?: boolean;
};

/** What was restored: the time of the last commit, if the WAL contained one. */
export type Restored = { readonly lastCommit: Date | null };

/** A day of WAL at full rate takes hours to replay. */
const REPLAY_TIMEOUT_MS = 7 * 86_400_000;

/**
 * Makes the backup `from` the database of `dataDir`, which must have none, and replays archived WAL up to `time`. The
 * database appears when it is complete, `beforeUse` has resolved, and its server has stopped. Whether it may send what is
 * queued in it is for the caller to decide, in `beforeUse`: a program may start the moment that the database is there.
 *
 * Throws a StartupError when the time is outside what backup and archive cover, when a part of the archive could not be
 * read, or when there is a database already; then nothing has changed.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { dataDir, from, time, log } = options;
  const { finishedAt } = await readFacts(from);
  if (time !== undefined && time < finishedAt)
    throw new StartupError(
      `${from} can be restored to ${finishedAt.toISOString()} or later: take an earlier backup for ${time.toISOString()}.`,
    );
  await createDataDir(dataDir);
  const exists = new StartupError(`${clusterPath(dataDir)} exists: stop the program, and move that folder away first.`);
  if (await hasCluster(dataDir)) throw exists;
  const user = await findServerUser(clusterPath(dataDir));
  let restored: Restored = { lastCommit: null };
  const installed = await installCluster({ dataDir, user, log }, async (dir) => {
    await copyFolder(join(from, 'postgres'), dir);
    await writeFile(join(dir, 'recovery.signal'), '');
    if (user !== undefined) await giveTo(user, dir);
    restored = await replay(dir, user, options);
    await copyDurably(join(from, basename(passwordPath(dataDir))), passwordPath(dataDir));
  });
  if (!installed) throw exists;
  return restored;
}

async function giveTo(user: ServerUser, dir: string): Promise<void> {
  await chown(dir, user.uid, user.gid);
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true }))
    await chown(join(entry.parentPath, entry.name), user.uid, user.gid);
}

/** Runs the server on the copy until it has replayed the WAL, and ends it. */
async function replay(dir: string, user: ServerUser | undefined, options: RestoreOptions): Promise<Restored> {
  const { dataDir, from, wal, walArchive, time, beforeUse, durable = true } = options;
  const archived = wal === undefined ? [] : (await listWal(wal)).segments;
  if (walArchive !== undefined) await prepareArchive(walArchive, user);
  const site: Site = {
    clusterDir: dir,
    logFile: join(resolve(dataDir), 'postgres.log'),
    postgres: (await findBinaries(user)).postgres,
    user,
    durable,
    // The history of the new timeline has to be in the archive: later restores follow it, and take no name twice.
    settings: { ...recoverySettings(wal, time), ...(walArchive !== undefined && archiveSettings(walArchive)) },
    startTimeoutMs: REPLAY_TIMEOUT_MS,
  };
  try {
    const { port } = await ensureRunning(site);
    const password = await readFile(passwordPath(from), 'utf8');
    const { timeline, lastCommit } = await onServer(port, password, findRecovery);
    if (time === undefined) await checkEnd(join(dir, 'pg_wal'), timeline, archived);
    if (beforeUse) await onServer(port, password, beforeUse);
    return { lastCommit };
  } catch (error) {
    throw explain(error, time);
  } finally {
    await stopAndWait(dir);
  }
}

/**
 * The settings of a server that replays WAL from an archive and then ends on a new timeline. Without hot standby it is not
 * ready before that.
 */
const recoverySettings = (wal: string | undefined, time: Date | undefined): Record<string, string> => ({
  restore_command: wal === undefined ? 'false' : `test -f '${wal}/%f' && cp '${wal}/%f' '%p'`,
  hot_standby: 'off',
  recovery_target_action: 'promote',
  // The server reads it before it knows the names of time zones.
  ...(time !== undefined && { recovery_target_time: time.toISOString().replace('Z', '+00') }),
});

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

/** Throws when the archive has later segments than the one at which the replay ended: one in between could not be read. */
async function checkEnd(ownWal: string, timeline: string, archived: readonly string[]): Promise<void> {
  const end = await findBranch(ownWal, timeline);
  const newest = archived.findLast((name) => timelineOf(name) === timelineOf(end));
  if (newest === undefined || placeOf(newest) <= placeOf(end)) return;
  throw new StartupError(
    `The archive has ${newest}, but ${end} or a segment after it is missing or cannot be read: copy it there, or name a time before the gap.`,
  );
}

const TOO_SHORT = /recovery ended before configured recovery target was reached/;

function explain(error: unknown, time: Date | undefined): unknown {
  const output = error instanceof StartupError ? String(error.cause) : '';
  if (!TOO_SHORT.test(output)) return error;
  const last = /last completed transaction was at log time (.*)/.exec(output)?.[1] ?? 'the end of the backup';
  return new StartupError(
    `The WAL in the archive ends at ${last}, before ${time?.toISOString()}: copy what is missing there, or name an earlier time.`,
  );
}
