import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { deleteWorkers, insertWorker, listWorkers } from './workers.ts';

const database = testDatabase();

const machine = { freeBytes: 5_000_000_000, certificateEndsAt: null };
const task = { name: 'receipts', ranAt: null, error: null };

test('a worker is alive while it holds its lock, and is deleted when it stops or has been dead for an hour', async () => {
  const { pool } = database;
  const [living, dead, longDead] = [randomInt(2 ** 40), randomInt(2 ** 40), randomInt(2 ** 40)];
  const session = await pool.connect();
  await exec(session, sql`SELECT pg_advisory_lock(${living}::bigint)`);
  for (const owner of [living, dead, longDead])
    await insertWorker(pool, { owner, host: 'here', pid: owner % 1000, tasks: [task], ...machine });
  await insertWorker(pool, { owner: living, host: 'here', pid: 1, tasks: [{ ...task, error: 'away' }], ...machine });
  const seen = (await listWorkers(pool)).map(({ owner, alive }) => [owner, alive]);
  expect(new Map(seen as [number, boolean][])).toEqual(
    new Map([
      [living, true],
      [dead, false],
      [longDead, false],
    ]),
  );
  const found = (await listWorkers(pool)).find(({ owner }) => owner === living);
  expect(found).toMatchObject({ tasks: [{ ...task, error: 'away' }], ...machine });
  await exec(pool, sql`UPDATE worker_process SET seen_at = now() - interval '2 hours' WHERE owner <> ${dead}`);
  expect(await deleteWorkers(pool, { owner: 0 })).toBe(1);
  expect((await listWorkers(pool)).map(({ owner }) => owner).toSorted()).toEqual([living, dead].toSorted());
  await exec(session, sql`SELECT pg_advisory_unlock(${living}::bigint)`);
  session.release();
  expect(await deleteWorkers(pool, { owner: living })).toBe(1);
});
