import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createRestoreGuard, moveToPaused, type RestoreGuard, readMark, writeMark } from './restore-guard.ts';

const { pool, connectionString } = testDatabase();

beforeEach(async () => {
  await reset(pool, sql`TRUNCATE dispatch_chunk, restore_guard_machine`);
  await exec(pool, sql`UPDATE restore_guard SET state = 'new', reason = NULL, decided_by = NULL`);
});

async function folder(): Promise<string> {
  const dataDir = await temporaryFolder('heliograph-turns-');
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}
const guardOf = (dataDir: string): RestoreGuard =>
  createRestoreGuard({ dataDir, pool, owner: () => 7, log: silentLog });
const generationOf = async (machine: string | undefined): Promise<number | undefined> => {
  const rows = await many<{ generation: number }>(
    pool,
    sql`SELECT generation FROM restore_guard_machine WHERE machine = ${machine}::uuid`,
  );
  return rows[0]?.generation;
};

/** A session of another process. */
async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
const tryTurn = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock(724908, 1) AS taken');
  return rows[0]?.taken === true;
};

test('sending is paused until the first check', async () => {
  const guard = guardOf(await folder());
  expect(guard.paused()).toBe(true);
  await guard.check();
  expect(guard.paused()).toBe(false);
});

test('the next check is due in ten seconds, or in one while sending is paused', async () => {
  const guard = guardOf(await folder());
  expect(await guard.check()).toBe(10_000);
  await moveToPaused(pool, { reason: 'test' });
  expect(await guard.check()).toBe(1000);
});

test('an orderly end raises the generation, unless sending is paused', async () => {
  const dataDir = await folder();
  const guard = guardOf(dataDir);
  await guard.check();
  await guard.stop();
  const mark = await readMark(dataDir);
  expect(mark?.generation).toBe(2);
  await moveToPaused(pool, { reason: 'test' });
  await guard.check();
  await exec(pool, sql`UPDATE restore_guard SET state = 'confirmed'`);
  await guard.stop();
  expect(await generationOf(mark?.machine)).toBe(2);
});

test('a machine whose mark and database disagree goes on as a new machine', async () => {
  const dataDir = await folder();
  await guardOf(dataDir).check();
  const before = await readMark(dataDir);
  await writeMark(dataDir, { machine: '', generation: 0, ...before, database: 'elsewhere/1' });
  await guardOf(dataDir).check();
  const after = await readMark(dataDir);
  expect(after?.machine).not.toBe(before?.machine);
  expect(await generationOf(after?.machine)).toBe(1);
});

test('a machine that comes deletes those that were away for more than 90 days', async () => {
  await guardOf(await folder()).check();
  const age = (days: number) =>
    exec(pool, sql`UPDATE restore_guard_machine SET seen_at = now() - ${days} * interval '1 day'`);
  const count = async () => (await one<{ n: number }>(pool, sql`SELECT count(*) AS n FROM restore_guard_machine`)).n;
  await age(89);
  await guardOf(await folder()).check();
  expect(await count()).toBe(2);
  await age(91);
  await guardOf(await folder()).check();
  expect(await count()).toBe(1);
});

test('a check waits for its turn, and gives it back', async () => {
  const other = await session();
  expect(await tryTurn(other)).toBe(true);
  const checked = guardOf(await folder()).check();
  await until('a check that waits', async () => (await countLockWaits(pool)) > 0);
  await other.query('SELECT pg_advisory_unlock(724908, 1)');
  await checked;
  expect(await tryTurn(other)).toBe(true);
});

test('a check that fails gives its turn back', async () => {
  const dataDir = await folder();
  await mkdir(join(dataDir, 'restore-guard.json'));
  await expect(guardOf(dataDir).check()).rejects.toThrow('EISDIR');
  const other = await session();
  await until('the turn', () => tryTurn(other));
});

test('a worker that has asked goes on once another worker sends again', async () => {
  const accountId = await createAccountWithCredit(pool, 0);
  const dataDir = await folder();
  const asking = guardOf(dataDir);
  await asking.check();
  await queueMessages(pool, { accountId });
  await exec(pool, sql`UPDATE restore_guard_machine SET generation = 0`);
  await asking.check();
  expect(asking.paused()).toBe(true);
  await exec(pool, sql`UPDATE restore_guard SET state = 'open'`);
  await asking.check();
  expect(asking.paused()).toBe(false);
});
