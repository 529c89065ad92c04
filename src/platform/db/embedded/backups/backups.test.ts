import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDataDir } from '../../../../../test/support/data-dir.ts';
import { temporaryFolder } from '../../../../../test/support/temporary-folder.ts';
import { until } from '../../../../../test/support/until.ts';
import { silentLog } from '../../../lib/log.ts';
import { createPool } from '../../pool.ts';
import { exec, many, one, sql } from '../../query.ts';
import { startEmbedded } from '../embedded.ts';
import { createBackup } from './create.ts';
import { writeFacts } from './facts.ts';
import { pruneArchive } from './prune.ts';
import { restoreBackup } from './restore.ts';
import { findBranch, listWal } from './segments.ts';

let folder: string;
let walArchive: string;
const dataDirs: string[] = [];
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-');
  walArchive = join(folder, 'wal');
});
afterAll(async () => {
  for (const dataDir of dataDirs) await removeDataDir(dataDir);
  await rm(folder, { recursive: true, maxRetries: 10 });
});

let count = 0;
/** A path at which there is nothing yet; it is removed at the end. */
function newPath(): string {
  const path = join(folder, `${++count}`);
  dataDirs.push(path);
  return path;
}

/** Runs `work` on the database of a DATA_DIR, which archives its WAL in `archive`. */
async function onServer<T>(dataDir: string, work: (pool: Pool) => Promise<T>, archive?: string): Promise<T> {
  const server = await startEmbedded({ dataDir, walArchive: archive, log: silentLog, durable: false });
  const pool = createPool(server.connectionString, { max: 2, applicationName: 'test', log: silentLog });
  try {
    return await work(pool);
  } finally {
    await pool.end();
    await server.stop();
  }
}

const add = (pool: Pool, n: number): Promise<number> => exec(pool, sql`INSERT INTO written VALUES (${n})`);
const listWritten = async (pool: Pool): Promise<number[]> =>
  (await many<{ n: number }>(pool, sql`SELECT n FROM written ORDER BY n`)).map(({ n }) => n);

type Wanted = { from: string; wal?: string; walArchive?: string; time?: Date };
/** Restores a backup into a new DATA_DIR; resolves with that. */
async function restore({ from, wal, walArchive: archive, time }: Wanted): Promise<string> {
  const dataDir = newPath();
  await restoreBackup({ dataDir, from, wal, walArchive: archive, time, log: silentLog, durable: false });
  return dataDir;
}

/** Waits until what was committed so far is in the archive. Returns a time after all of it and before all that follows. */
async function archived(pool: Pool): Promise<Date> {
  const { now } = await one<{ now: Date }>(pool, sql`SELECT clock_timestamp() AS now, pg_sleep(0.01)`);
  // Without it there may be nothing to switch from.
  await exec(pool, sql`SELECT pg_logical_emit_message(true, 'test', '')`);
  const { segment } = await one<{ segment: string }>(pool, sql`SELECT pg_walfile_name(pg_switch_wal()) AS segment`);
  await until('the archive', () => existsSync(join(walArchive, segment)));
  return new Date(now.getTime() + 1);
}

describe('a backup taken while rows are written, and WAL that is archived afterwards', () => {
  let from: string;
  let times: { readonly started: Date; readonly first: Date; readonly second: Date };
  beforeAll(async () => {
    const dataDir = newPath();
    from = newPath();
    times = await onServer(
      dataDir,
      async (pool) => {
        await exec(pool, sql`CREATE TABLE written (n int)`);
        await add(pool, 1);
        const [{ startedAt: started }] = await Promise.all([createBackup(pool, { dataDir, to: from }), add(pool, 2)]);
        await add(pool, 3);
        const first = await archived(pool);
        await add(pool, 4);
        const second = await archived(pool);
        return { started, first, second };
      },
      walArchive,
    );
  });

  test('are restored to each time as it was then', async () => {
    expect(await onServer(await restore({ from, wal: walArchive, time: times.first }), listWritten)).toEqual([1, 2, 3]);
    expect(await onServer(await restore({ from, wal: walArchive, time: times.second }), listWritten)).toEqual([
      1, 2, 3, 4,
    ]);
  });

  test('are restored to the end of the archive if no time is named', async () => {
    expect(await onServer(await restore({ from, wal: walArchive }), listWritten)).toEqual([1, 2, 3, 4]);
  });

  test('what is done before its use is in the restored database, and when that fails there is none', async () => {
    const dataDir = newPath();
    const options = { dataDir, from, wal: undefined, walArchive: undefined, time: undefined, log: silentLog };
    const fail = () => Promise.reject(new Error('not paused'));
    await expect(restoreBackup({ ...options, durable: false, beforeUse: fail })).rejects.toThrow('not paused');
    expect(await readdir(dataDir)).toEqual(['postgres.log']);
    await restoreBackup({
      ...options,
      durable: false,
      beforeUse: (db) => exec(db, sql`INSERT INTO written VALUES (7)`),
    });
    expect(await onServer(dataDir, listWritten)).toContain(7);
  });

  test('the backup is restored without any archive to the time at which it was finished', async () => {
    expect((await onServer(await restore({ from }), listWritten)).slice(0, 1)).toEqual([1]);
  });

  test('a time before the backup or after the archive is refused, and nothing is left that a start would use', async () => {
    await expect(restore({ from, wal: walArchive, time: times.started })).rejects.toThrow(
      /can be restored to .* or later/,
    );
    const later = new Date(Date.now() + 3_600_000);
    await expect(restore({ from, wal: walArchive, time: later })).rejects.toThrow(/^The WAL in the archive ends at 20/);
    const [last = ''] = dataDirs.slice(-1);
    expect(await readdir(last)).toEqual(['postgres.log']);
  });

  test('a hole in the archive is reported, with or without a time', async () => {
    const { segments } = await listWal(walArchive);
    const [hidden = ''] = segments.slice(-2);
    await rename(join(walArchive, hidden), join(folder, hidden));
    await expect(restore({ from, wal: walArchive })).rejects.toThrow(
      /^The archive has .* is missing or cannot be read/,
    );
    await expect(restore({ from, wal: walArchive, time: times.second })).rejects.toThrow(
      /^The WAL in the archive ends/,
    );
    await rename(join(folder, hidden), join(walArchive, hidden));
  });

  test('a restored database has a timeline of its own, and its WAL goes into the same archive', async () => {
    const dataDir = await restore({ from, wal: walArchive, walArchive, time: times.first });
    await onServer(
      dataDir,
      async (pool) => {
        await add(pool, 10);
        await archived(pool);
      },
      walArchive,
    );
    expect((await listWal(walArchive)).histories).toEqual(['00000002.history']);
    // What is newest counts: the first timeline was given up when the backup was restored.
    expect(await onServer(await restore({ from, wal: walArchive }), listWritten)).toEqual([1, 2, 3, 10]);
  });

  test('a database is neither replaced by a restore, nor a folder by a backup', async () => {
    const dataDir = await restore({ from });
    const again = restoreBackup({
      dataDir,
      from,
      wal: walArchive,
      walArchive,
      time: undefined,
      log: silentLog,
      durable: false,
    });
    await expect(again).rejects.toThrow(/postgres exists: stop the program, and move that folder away first/);
    const backup = onServer(dataDir, (pool) => createBackup(pool, { dataDir, to: from }));
    await expect(backup).rejects.toThrow(/exists already: name a new folder/);
  });

  test('WAL from before a backup is deleted, and what the backup needs is kept', async () => {
    const { segments } = await listWal(walArchive);
    const early = '000000010000000000000000';
    for (const name of [early, `${early}.00000028.backup`]) await writeFile(join(walArchive, name), '');
    expect(await pruneArchive(walArchive, from)).toBeGreaterThanOrEqual(2);
    expect((await listWal(walArchive)).segments).not.toContain(early);
    expect((await listWal(walArchive)).segments.slice(-2)).toEqual(segments.slice(-2));
    expect(await onServer(await restore({ from, wal: walArchive }), listWritten)).toEqual([1, 2, 3, 10]);
  });
});

test('WAL of a later timeline is kept, for a later backup may begin at an earlier place', async () => {
  const [archive, backup] = [newPath(), newPath()];
  for (const dir of [archive, backup]) await mkdir(dir);
  const firstSegment = '000000020000000000000064';
  await writeFacts(backup, { startedAt: new Date(), finishedAt: new Date(), firstSegment });
  // Of a database that was restored to an earlier time after that backup.
  const later = '000000030000000000000032';
  for (const name of ['000000010000000000000031', '000000020000000000000063', firstSegment, later])
    await writeFile(join(archive, name), '');
  expect(await pruneArchive(archive, backup)).toBe(2);
  expect((await listWal(archive)).segments).toEqual([firstSegment, later]);
});

test('a backup inside the database that it copies is refused', async () => {
  const dataDir = newPath();
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  const pool = createPool('postgres://nobody@127.0.0.1:9/none', { max: 1, applicationName: 'test', log: silentLog });
  const to = join(dataDir, 'postgres', 'backup');
  await expect(createBackup(pool, { dataDir, to })).rejects.toThrow(/is inside the database: name a folder outside/);
  await pool.end();
});

test('a folder that is no backup is refused', async () => {
  await mkdir(newPath());
  const from = dataDirs.at(-1) ?? '';
  await expect(restore({ from })).rejects.toThrow(/is no backup: name a folder that `backup create` has written/);
});

test('the branch of a timeline is the segment of its parent in which it left it', async () => {
  const dir = newPath();
  await mkdir(dir);
  const history = '1\t0/3000158\tbefore 2026\n2\t1A/FF000028\tbefore 2027\n';
  await writeFile(join(dir, '0000000B.history'), history);
  expect(await findBranch(dir, '0000000B')).toBe('000000020000001A000000FF');
});
