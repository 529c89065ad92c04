import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import { exec, many, sql } from './query.ts';
import { openWorkerSession, type WorkerSession } from './worker-session.ts';

const database = testDatabase({ empty: true });

type Heard = [channel: string, payload: string];

async function open(channels: readonly string[] = []): Promise<{ session: WorkerSession; heard: Heard[] }> {
  const heard: Heard[] = [];
  const session = await openWorkerSession({
    connectionString: database.connectionString,
    channels,
    onNotify: (...notification) => void heard.push(notification),
    log: silentLog,
  });
  onTestFinished(() => session.close());
  return { session, heard };
}

/** The backends that hold a worker's lock. */
const holders = async (owner: number): Promise<number[]> =>
  (
    await many<{ pid: number }>(
      database.pool,
      sql`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
          AND (classid::bigint << 32 | objid::bigint) = ${owner}`,
    )
  ).map(({ pid }) => pid);

const terminate = (pids: readonly number[]): Promise<number> =>
  exec(database.pool, sql`SELECT pg_terminate_backend(pid, 5000) FROM unnest(${pids}::int[]) AS pid`);

test('an open session holds its lock, and closing it releases the lock', async () => {
  const { session } = await open();
  expect(await holders(session.owner)).toHaveLength(1);
  await session.close();
  await expect.poll(() => holders(session.owner)).toEqual([]);
});

test('two sessions have two keys', async () => {
  const [one, other] = [await open(), await open()];
  expect(one.session.owner).not.toBe(other.session.owner);
});

test('notifications arrive with their payload, only on the given channels', async () => {
  const { heard } = await open(['worker_one', 'worker_two']);
  await exec(database.pool, sql`SELECT pg_notify('worker_three', 'x'), pg_notify('worker_two', '17')`);
  await expect.poll(() => heard).toEqual([['worker_two', '17']]);
});

test('a lost session is reopened with the same key, listens again and signals every channel', async () => {
  const { session, heard } = await open(['worker_one', 'worker_two']);
  const [first] = await holders(session.owner);
  await terminate([first ?? 0]);
  await expect
    .poll(() => heard)
    .toEqual([
      ['worker_one', ''],
      ['worker_two', ''],
    ]);
  const [second] = await holders(session.owner);
  expect(second).toEqual(expect.any(Number));
  expect(second).not.toBe(first);
  await exec(database.pool, sql`SELECT pg_notify('worker_one', 'again')`);
  await expect.poll(() => heard.at(-1)).toEqual(['worker_one', 'again']);
});

test('a session that was closed stays closed', async () => {
  const { session, heard } = await open(['worker_one']);
  await session.close();
  await exec(database.pool, sql`SELECT pg_notify('worker_one', 'x')`);
  const after = await open(['worker_one']);
  await exec(database.pool, sql`SELECT pg_notify('worker_one', 'y')`);
  await expect.poll(() => after.heard).toEqual([['worker_one', 'y']]);
  expect(heard).toEqual([]);
  expect(await holders(session.owner)).toEqual([]);
});
