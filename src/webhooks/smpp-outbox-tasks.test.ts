import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { HOUR_MS } from '../core/time.ts';
import { smppOutboxTasks } from './smpp-outbox.ts';

const { pool } = testDatabase();

test('whatever waited for seven days is dropped, however much it is, and nothing else', async () => {
  const insert = (count: number, days: number) =>
    exec(
      pool,
      sql`INSERT INTO smpp_outbox (account_id, message_id, at)
          SELECT 1, gen_random_uuid(), now() - ${days} * interval '1 day' FROM generate_series(1, ${count}::int)`,
    );
  await insert(25_000, 8);
  await insert(3, 6);
  const [task] = smppOutboxTasks({ pool, clock: { now: () => new Date() }, config: { retentionDays: 90 } });
  const waits: number[] = [];
  while (waits.at(-1) !== HOUR_MS) waits.push((await task?.work()) ?? HOUR_MS);
  expect(waits).toEqual([0, 0, 0, HOUR_MS]);
  expect(await many(pool, sql`SELECT FROM smpp_outbox`)).toHaveLength(3);
});
