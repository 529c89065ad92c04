import { existsSync } from 'node:fs';
import { chown, copyFile, mkdir, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import pg, { type Pool } from 'pg';
import type { Log } from '../log.ts';
import {
  clusterPath,
  ensureRunning,
  hasCluster,
  installCluster,
  OWNER_FILE,
  passwordPath,
  type Site,
  stopAndWait,
} from './embedded-process.ts';
import { findBinaries, findServerUser, type ServerUser, SUPERUSER } from './embedded-settings.ts';
import { type Db, exec, one, sql } from './query.ts';
import { createDataDir, ignoreCode, readIfExists, StartupError } from './startup-error.ts';

/**
 * Copies a folder with its contents, readable only by its owner. Files that vanish meanwhile are omitted, and so are
 * paths below the folder for which `isLeftOut` returns true. When it resolves, the copy is on the disk. Throws if `to`
 * exists.
 */
async function copyFolder(from: string, to: string, isLeftOut: (path: string) => boolean = () => false): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (isLeftOut(entry.name)) continue;
    if (entry.isDirectory()) await copyFolder(source, target, (path) => isLeftOut(join(entry.name, path)));
    else if (entry.isFile()) await copyDurably(source, target).catch(ignoreCode('ENOENT'));
  }
  await sync(to);
}

/** Copies one file; when it resolves, its content is on the disk. */
async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await sync(to);
}

/** Flushes a file or a folder to the disk. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Folders whose content belongs to the running server. */
const EMPTY = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
const OF_SERVER = /^(postmaster\.(pid|opts)|\.s\.PGSQL\..*)$/;
const TEMPORARY = /(^|\/)pgsql_tmp/;

/**
 * Copies the database of `dataDir` into the new folder `to` while it is in use: the cluster, the WAL written meanwhile,
 * and its password. The backup is restored to the time at which it was finished. The folder appears when the backup is
 * complete and on the disk. Files and the secret key are not part of it. Throws a StartupError if `to` exists or is
 * inside the cluster.
 */
export async function createBackup(pool: Pool, { dataDir, to }: { dataDir: string; to: string }): Promise<BackupFacts> {
  if (existsSync(to)) throw new StartupError(`${to} exists already: name a new folder.`);
  const cluster = await realpath(clusterPath(dataDir));
  // Otherwise it would be copied into itself, again and again.
  if (!relative(cluster, to).startsWith('..'))
    throw new StartupError(`${to} is inside the database: name a folder outside ${cluster}.`);
  const draft = join(dirname(to), `${basename(to)}.part`);
  await mkdir(dirname(to), { recursive: true });
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  const session = await pool.connect();
  try {
    const facts = await copyCluster(session, cluster, join(draft, 'postgres'));
    await copyDurably(passwordPath(dataDir), join(draft, basename(passwordPath(dataDir))));
    await writeFacts(draft, facts);
    await sync(draft);
    await rename(draft, to);
    await sync(dirname(to));
    return facts;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    // The end of the session releases what it holds: the WAL, and an unfinished backup.
    session.release(true);
  }
}

async function copyCluster(session: Db, cluster: string, to: string): Promise<BackupFacts> {
  const startedAt = new Date();
  await holdWal(session);
  await startBackup(session);
  await copyFolder(cluster, to, isLeftOut);
  const { label, lastSegment } = await stopBackup(session);
  const finishedAt = new Date();
  const firstSegment = /\(file ([0-9A-F]{24})\)/.exec(label)?.[1];
  if (firstSegment === undefined) throw new Error(`the label of the backup names no segment: ${label}`);
  await writeFile(join(to, 'backup_label'), label, { mode: 0o600 });
  await sync(join(to, 'backup_label'));
  const segments = (await readdir(join(cluster, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name));
  for (const name of segments.filter((one) => one >= firstSegment && one <= lastSegment))
    await copyDurably(join(cluster, 'pg_wal', name), join(to, 'pg_wal', name));
  await sync(join(to, 'pg_wal'));
  return { startedAt, finishedAt };
}

/** Returns true if a copy of a cluster must omit a path: it belongs to the running server, which creates it again. */
function isLeftOut(path: string): boolean {
  const [first = '', ...below] = path.split('/');
  if (path === OWNER_FILE || OF_SERVER.test(path) || TEMPORARY.test(path)) return true;
  return EMPTY.has(first) && below.length > 0;
}

type BackupFacts = {
  readonly startedAt: Date;
  /** Time to which the backup is restored. */
  readonly finishedAt: Date;
};

const fileOf = (backup: string): string => join(backup, 'backup.json');

async function writeFacts(backup: string, facts: BackupFacts): Promise<void> {
  await writeFile(fileOf(backup), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  await sync(fileOf(backup));
}

/** Reads the metadata of a backup. Throws a StartupError if the folder is not a backup. */
async function readFacts(backup: string): Promise<BackupFacts> {
  const text = await readIfExists(fileOf(backup));
  const facts: unknown = text === undefined ? null : JSON.parse(text);
  if (!isStored(facts))
    throw new StartupError(`${backup} is not a backup: name a folder that \`backup create\` has written.`);
  return { startedAt: new Date(facts.startedAt), finishedAt: new Date(facts.finishedAt) };
}

type Stored = { readonly [K in keyof BackupFacts]: string };

const isStored = (facts: unknown): facts is Stored =>
  typeof facts === 'object' &&
  facts !== null &&
  ['startedAt', 'finishedAt'].every((name) => typeof Object(facts)[name] === 'string');

/**
 * Deletes the oldest backups in `folder` and keeps the `keep` newest ones; other files and folders stay. Returns the
 * names of the deleted ones, oldest first.
 */
export async function pruneBackups(folder: string, keep: number): Promise<string[]> {
  const found: { name: string; finishedAt: Date }[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    // A draft that is being written ends in .part.
    if (!entry.isDirectory() || entry.name.endsWith('.part')) continue;
    const facts = await readFacts(join(folder, entry.name)).catch(() => null);
    if (facts) found.push({ name: entry.name, finishedAt: facts.finishedAt });
  }
  const newestFirst = found.toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime());
  const old = newestFirst.slice(keep).map(({ name }) => name);
  for (const name of old.toReversed()) await rm(join(folder, name), { recursive: true });
  return old.toReversed();
}

type RestoreOptions = {
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

/**
 * Keeps this session from timing out, and WAL from being removed until it ends. A checkpoint may take longer than any
 * statement of the program.
 */
async function holdWal(session: Db): Promise<void> {
  await exec(session, sql`SET statement_timeout = 0`);
  await exec(
    session,
    sql`SELECT pg_create_physical_replication_slot('heliograph_backup_' || pg_backend_pid(), true, true)`,
  );
}

/** Begins a backup, which ends with the session. The server flushes its memory as fast as it can. */
async function startBackup(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_backup_start('heliograph', true)`);
}

/**
 * Ends the backup of this session. Returns the content of its file `backup_label`, and the last WAL segment that it
 * needs, which is complete.
 */
const stopBackup = (session: Db): Promise<{ label: string; lastSegment: string }> =>
  one(
    session,
    sql`SELECT labelfile AS label, pg_walfile_name(lsn) AS "lastSegment" FROM pg_backup_stop(wait_for_archive => false)`,
  );
