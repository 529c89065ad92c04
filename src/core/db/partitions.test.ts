import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { firstIdAt } from '../ids.ts';
import { DAY_MS } from '../time.ts';
import { DAY_TABLES, ensurePartitions } from './partitions.ts';
import { exec, many, one, sql } from './query.ts';

const { pool } = testDatabase();

const TABLES = Object.keys(DAY_TABLES).length;
/** A time far from the days that the template has. */
const NOON = new Date('2031-03-31T12:00:00Z');

const partitionOf = async (id: string): Promise<string> => {
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at) VALUES (1, ${id}, 1, 1, now())`,
  );
  const row = await one<{ name: string }>(
    pool,
    sql`DELETE FROM message_state WHERE id = ${id} RETURNING tableoid::regclass::text AS name`,
  );
  return row.name;
};

test('yesterday, today and the next seven days get partitions in every table, and a second call makes none', async () => {
  expect(await ensurePartitions(pool, NOON)).toBe(9 * TABLES);
  expect(await ensurePartitions(pool, NOON)).toBe(0);
  expect(await partitionOf(firstIdAt(new Date(NOON.getTime() - DAY_MS)))).toBe('message_state_20310330');
  expect(await partitionOf(firstIdAt(new Date(NOON.getTime() + 7 * DAY_MS)))).toBe('message_state_20310407');
});

test('a day later only the day at the end is missing', async () => {
  expect(await ensurePartitions(pool, new Date(NOON.getTime() + DAY_MS))).toBe(TABLES);
});

test('the last millisecond of a day and the first of the next go to their own days', async () => {
  const midnight = new Date('2031-04-01T00:00:00Z');
  expect(await partitionOf(firstIdAt(midnight))).toBe('message_state_20310401');
  const last = firstIdAt(new Date(midnight.getTime() - 1)).replace(/0000-0{12}$/, 'ffff-ffffffffffff');
  expect(await partitionOf(last)).toBe('message_state_20310331');
});

test('concurrent processes make each partition once, and none fails', async () => {
  const later = new Date('2032-01-01T00:00:00Z');
  await Promise.all(Array.from({ length: 4 }, () => ensurePartitions(pool, later)));
  expect(await ensurePartitions(pool, later)).toBe(0);
});

test('partitions of states leave room on their pages for the updates of receipts', async () => {
  const rows = await many<{ options: string[] | null }>(
    pool,
    sql`SELECT c.reloptions AS options FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'message_state'::regclass`,
  );
  expect(rows.length).toBeGreaterThan(9);
  expect(rows.every(({ options }) => options?.includes('fillfactor=30'))).toBe(true);
});
