import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { countLockWaits } from '../../../test/support/lock-waits.ts';
import { until } from '../../../test/support/until.ts';
import { createPastDayIndexer, ensurePartitions } from './partitions.ts';
import { exec, many, raw, sql } from './query.ts';

const { pool } = testDatabase();

/** A time far from the days that the template has; the template's own are indexed first. */
const NOON = new Date('2031-03-31T12:00:00Z');

const index = (now: Date) => createPastDayIndexer(pool).work(now);
beforeAll(async () => {
  await index(NOON);
  await ensurePartitions(pool, NOON);
});

async function indexes(day: string): Promise<Record<string, boolean>> {
  const rows = await many<{ name: string; valid: boolean }>(
    pool,
    sql`SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relname LIKE ${`%\\_${day}\\_history`} ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, valid }) => [name, valid]));
}
const BOTH = { message_20310330_history: true, message_state_20310330_history: true };

test('a day is indexed when it has been over for six hours, once, and the day that is written to is not', async () => {
  expect(await index(new Date('2031-03-31T05:59:00Z'))).toBe(0);
  expect(await index(NOON)).toBe(2);
  expect(await indexes('20310330')).toEqual(BOTH);
  expect(await indexes('20310331')).toEqual({});
  expect(await index(NOON)).toBe(0);
});

test('an index whose build was interrupted is built again', async () => {
  await exec(
    pool,
    raw(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'message_20310330_history'::regclass`),
  );
  expect(await index(NOON)).toBe(1);
  expect(await indexes('20310330')).toEqual(BOTH);
});

test('of several processes only one builds, and the others do not wait', async () => {
  await exec(pool, raw('DROP INDEX message_20310330_history, message_state_20310330_history'));
  const built = await Promise.all(Array.from({ length: 4 }, () => index(NOON)));
  expect(built.toSorted()).toEqual([0, 0, 0, 2]);
  expect(await indexes('20310330')).toEqual(BOTH);
});

test('stopping does not wait for a day that is being written to, and the next process builds it', async () => {
  await exec(pool, raw('DROP INDEX message_20310330_history'));
  const writer = await pool.connect();
  await exec(writer, raw('BEGIN; LOCK TABLE message_20310330 IN ROW EXCLUSIVE MODE'));
  const days = createPastDayIndexer(pool);
  const built = days.work(NOON);
  await until('the building waits for the writer', async () => (await countLockWaits(pool, 'CREATE INDEX')) === 1);
  await days.stop();
  expect(await built).toBe(0);
  await exec(writer, raw('COMMIT'));
  writer.release();
  expect(await indexes('20310330')).toEqual({ ...BOTH, message_20310330_history: false });
  // The session that was stopped may keep its lock for a moment.
  await until('the next process to build it', async () => (await index(NOON)) === 1);
  expect(await indexes('20310330')).toEqual(BOTH);
});
