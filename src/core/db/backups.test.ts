import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeDataDir } from '../../../test/support/data-dir.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { silentLog } from '../log.ts';
import { createBackup, restoreBackup } from './backups.ts';
import { startEmbedded } from './embedded.ts';
import { createPool } from './pool.ts';
import { exec, many, sql } from './query.ts';

let folder: string;
let pool: Pool;
let stop: () => Promise<void>;
const pathOf = (name: string): string => join(folder, name);

const poolOf = (connectionString: string): Pool =>
  createPool(connectionString, { max: 2, applicationName: 'test', log: silentLog });

beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-');
  const server = await startEmbedded({ dataDir: pathOf('data'), log: silentLog, durable: false });
  pool = poolOf(server.connectionString);
  stop = async () => {
    await pool.end();
    await server.stop();
  };
});
afterAll(async () => {
  await stop();
  for (const name of ['data', 'restored']) await removeDataDir(pathOf(name));
  await rm(folder, { recursive: true, maxRetries: 10 });
});

const restore = (beforeUse: NonNullable<Parameters<typeof restoreBackup>[0]['beforeUse']>) =>
  restoreBackup({ dataDir: pathOf('restored'), from: pathOf('backup'), log: silentLog, durable: false, beforeUse });

test('a backup that is taken while rows are written has those from before it, and none from after it', async () => {
  await exec(pool, sql`CREATE TABLE written (n int)`);
  await exec(pool, sql`INSERT INTO written VALUES (1)`);
  let isOn = true;
  const meanwhile = (async () => {
    while (isOn) await exec(pool, sql`INSERT INTO written VALUES (2)`);
  })();
  const created = await createBackup(pool, { dataDir: pathOf('data'), to: pathOf('backup') });
  isOn = false;
  await meanwhile;
  await exec(pool, sql`INSERT INTO written VALUES (3)`);
  await expect(createBackup(pool, { dataDir: pathOf('data'), to: pathOf('backup') })).rejects.toThrow(
    /exists already: name a new folder/,
  );

  // If the work before its use fails, no database is there.
  await expect(restore(() => Promise.reject(new Error('not paused')))).rejects.toThrow('not paused');
  expect(await readdir(pathOf('restored'))).toEqual(['postgres.log']);

  let rows: { n: number }[] = [];
  const restored = await restore(async (db) => {
    rows = await many(db, sql`SELECT DISTINCT n FROM written ORDER BY n`);
  });
  expect(restored).toEqual(created);
  expect(rows.map(({ n }) => n).filter((n) => n !== 2)).toEqual([1]);
  await expect(restore(async () => undefined)).rejects.toThrow(
    /postgres exists: stop the program, and move that folder/,
  );
});

test('a backup inside the database that it copies is refused', async () => {
  const to = join(pathOf('data'), 'postgres', 'backup');
  await expect(createBackup(pool, { dataDir: pathOf('data'), to })).rejects.toThrow(
    /is inside the database: name a folder outside/,
  );
});

test('a folder that is no backup is refused', async () => {
  await mkdir(pathOf('none'));
  await writeFile(join(pathOf('none'), 'backup.json'), '{}');
  const refused = restoreBackup({ dataDir: pathOf('other'), from: pathOf('none'), log: silentLog });
  await expect(refused).rejects.toThrow(/is not a backup: name a folder that `backup create` has written/);
});
