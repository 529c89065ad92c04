import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import type { QueuedEvent } from './account-queue.ts';
import { deleteRetries, insertRetries, recordSettled, type Retry } from './log.ts';

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

test('the result of an event that was deleted meanwhile is not recorded, and no error of an erased message', async () => {
  const [accountId, owner] = [7, 77];
  const [kept, erased] = [newId(), newId()];
  await exec(pool, sql`INSERT INTO webhook_claim (account_id, owner) VALUES (${accountId}, ${owner})`);
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, erased)
        VALUES (${accountId}, ${erased}, 1, 1, now(), true)`,
  );
  const { outboxId } = await one<{ outboxId: number }>(
    pool,
    sql`INSERT INTO webhook_outbox (account_id, kind, message_ids, at, errors)
        VALUES (${accountId}, 'DELIVERY', ${[kept, erased]}::uuid[], ARRAY[now(), now()], '{a,b}')
        RETURNING id AS "outboxId"`,
  );
  const eventOf = (messageId: string, from: number | null): QueuedEvent => ({
    accountId,
    endpoint: 0,
    id: newId(),
    kind: 'DELIVERY',
    data: null,
    messageId,
    status: 1,
    at: new Date(),
    error: `no route to ${messageId}`,
    seq: 1,
    outboxId: from,
    attempts: 0,
    facts: {},
  });
  const failed = { kind: 'failed', code: 500, reason: null, retryAfterMs: null, unwanted: false } as const;
  const result = { ...failed, at: new Date(), durationMs: 1, answer: null };
  const events = [eventOf(kept, outboxId), eventOf(erased, outboxId), eventOf(newId(), -1), eventOf(newId(), null)];
  await recordSettled(pool, {
    owner,
    settled: events.map((event) => ({ event, result, target: null })),
    done: [],
  });
  const logged = await many(
    pool,
    sql`SELECT message_id AS id, error FROM webhook_delivery WHERE account_id = ${accountId} ORDER BY error`,
  );
  expect(logged).toEqual([
    { id: kept, error: `no route to ${kept}` },
    { id: erased, error: null },
  ]);
  const retried = await many(pool, sql`SELECT message_id AS id FROM webhook_retry WHERE account_id = ${accountId}`);
  expect(new Set(retried.map(({ id }) => id))).toEqual(new Set([kept, erased]));
});
