import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Pool } from 'pg';
import type { Db } from '../../query.ts';
import { StartupError } from '../../startup-error.ts';
import { clusterPath, OWNER_FILE, passwordPath } from '../cluster.ts';
import { copyDurably, copyFolder, sync } from './copy-folder.ts';
import { type BackupFacts, writeFacts } from './facts.ts';
import * as db from './sql.ts';

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
  await db.holdWal(session);
  await db.startBackup(session);
  await copyFolder(cluster, to, isLeftOut);
  const { label, lastSegment } = await db.stopBackup(session);
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
