import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { deleteRetries, insertRetries, type Retry } from './log.ts';

const { pool } = testDatabase();

const EARLIER = new Date('2127-01-31T09:00:00Z');
const PLANNED = new Date('2127-01-31T11:00:00Z');

test('the end of an event makes the next of its message due unless that has a time of its own', async () => {
  const [planned, behind, untouched] = [newId(), newId(), newId()];
  const retry = (messageId: string, seq: number, dueAt: Date | null): Retry => ({
    accountId: 1,
    endpoint: 0,
    id: newId(),
    messageId,
    seq,
    dueAt,
  });
  const ended = [retry(planned, 1, EARLIER), retry(behind, 2, EARLIER)];
  const waiting = [
    retry(planned, 3, PLANNED),
    retry(planned, 4, null),
    retry(behind, 5, null),
    retry(behind, 6, null),
    retry(untouched, 7, null),
  ];
  await insertRetries(pool, [...ended, ...waiting]);
  await deleteRetries(pool, ended);
  const left = await many<{ seq: number; dueAt: Date | null; isDue: boolean }>(
    pool,
    sql`SELECT seq, due_at AS "dueAt", coalesce(due_at BETWEEN now() - interval '1 hour' AND now(), false) AS "isDue"
        FROM webhook_retry ORDER BY seq`,
  );
  expect(left).toEqual([
    { seq: 3, dueAt: PLANNED, isDue: false },
    { seq: 4, dueAt: null, isDue: false },
    { seq: 5, dueAt: expect.any(Date), isDue: true },
    { seq: 6, dueAt: null, isDue: false },
    { seq: 7, dueAt: null, isDue: false },
  ]);
});
