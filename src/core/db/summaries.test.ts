import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { newId } from '../ids.ts';
import { summariseStates } from './partitions.ts';
import { exec, many, raw, sql } from './query.ts';

const { pool } = testDatabase();
const NOW = new Date();

/** Number of states, more than one range of pages. */
const STATES = 2000;
const insertStates = () =>
  exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
        SELECT 1, id, 3, 1, now() FROM unnest(${Array.from({ length: STATES }, newId)}::uuid[]) AS id`,
  );

test('what was written is summarised once, and then a search for an absent status skips it', async () => {
  await insertStates();
  expect(await summariseStates(pool, NOW)).toBeGreaterThan(0);
  expect(await summariseStates(pool, NOW)).toBe(0);
  const client = await pool.connect();
  await exec(client, raw('SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off'));
  const plan = await many<{ 'QUERY PLAN': string }>(
    client,
    sql`EXPLAIN (ANALYZE, TIMING off, COSTS off) SELECT id FROM message_state WHERE status = 7::smallint`,
  );
  client.release(true);
  const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
  expect(lines).toMatch(/Bitmap Index Scan on message_state_\d{8}_id_status_idx/);
  expect(lines).not.toContain('Heap Blocks');
});

test('while vacuum is at work on the table, it does nothing and does not wait for it', async () => {
  await insertStates();
  const vacuum = await pool.connect();
  await exec(vacuum, raw('BEGIN; LOCK TABLE message_state IN SHARE UPDATE EXCLUSIVE MODE'));
  expect(await summariseStates(pool, NOW)).toBe(0);
  await exec(vacuum, raw('ROLLBACK'));
  vacuum.release();
});
