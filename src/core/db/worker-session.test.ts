import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import type { NotifyChannel } from '../notifications.ts';
import { exec, many, sql } from './query.ts';
import { openWorkerSession, type WorkerSession } from './worker-session.ts';

const database = testDatabase({ empty: true });

type Heard = [channel: string, payload: string];

async function open(...channels: NotifyChannel[]): Promise<{ session: WorkerSession; heard: Heard[] }> {
  const heard: Heard[] = [];
  const session = await openWorkerSession({ connectionString: database.connectionString, log: silentLog });
  onTestFinished(() => session.close());
  for (const channel of channels)
    await session.listen({ [channel]: (payload: string) => void heard.push([channel, payload]) });
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
  const { heard } = await open('heliograph_links', 'heliograph_jobs');
  await exec(database.pool, sql`SELECT pg_notify('heliograph_inbox', 'x'), pg_notify('heliograph_jobs', '17')`);
  await expect.poll(() => heard).toEqual([['heliograph_jobs', '17']]);
});

test('all listeners of a channel are called, and a lost session is reported', async () => {
  const { session, heard } = await open('heliograph_links', 'heliograph_links');
  const lost: string[] = [];
  session.onLost(() => void lost.push('lost'));
  await exec(database.pool, sql`SELECT pg_notify('heliograph_links', 'x')`);
  await expect
    .poll(() => heard)
    .toEqual([
      ['heliograph_links', 'x'],
      ['heliograph_links', 'x'],
    ]);
  await terminate(await holders(session.owner));
  await expect.poll(() => lost).toEqual(['lost']);
});

test('a lost session is reopened with the same key, listens again and signals every channel', async () => {
  const { session, heard } = await open('heliograph_links', 'heliograph_jobs');
  const [first] = await holders(session.owner);
  await terminate([first ?? 0]);
  await expect
    .poll(() => heard)
    .toEqual([
      ['heliograph_links', ''],
      ['heliograph_jobs', ''],
    ]);
  const [second] = await holders(session.owner);
  expect(second).toEqual(expect.any(Number));
  expect(second).not.toBe(first);
  await exec(database.pool, sql`SELECT pg_notify('heliograph_links', 'again')`);
  await expect.poll(() => heard.at(-1)).toEqual(['heliograph_links', 'again']);
});

test('a session that was closed stays closed', async () => {
  const { session, heard } = await open('heliograph_links');
  await session.close();
  await exec(database.pool, sql`SELECT pg_notify('heliograph_links', 'x')`);
  const after = await open('heliograph_links');
  await exec(database.pool, sql`SELECT pg_notify('heliograph_links', 'y')`);
  await expect.poll(() => after.heard).toEqual([['heliograph_links', 'y']]);
  expect(heard).toEqual([]);
  expect(await holders(session.owner)).toEqual([]);
});
