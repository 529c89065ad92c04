import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exec, one, sql } from '../db/query.ts';
import { newId } from '../lib/ids.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { listUnknownIds, newMessage } from '../testing/queue.ts';
import * as db from './sql.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool;
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => exec(pool, sql`TRUNCATE message, message_state, message_part, unknown_outcome, client_message_id`));

const unknown = (accountId: number, messageId: string, connectionId: number) => ({
  accountId,
  messageId,
  connectionId,
  reason: 'no answer',
});

test('unknown outcomes are listed once, counted by connection, and leave for their own account only', async () => {
  const [first, second, third] = [newId(), newId(), newId()];
  await db.insertUnknowns(pool, [unknown(1, first, 1), unknown(1, second, 1), unknown(2, third, 2)]);
  await db.insertUnknowns(pool, [unknown(1, first, 1)]);
  const counts = (await db.countUnknowns(pool)).sort((a, b) => a.connectionId - b.connectionId);
  expect(counts).toEqual([
    { connectionId: 1, count: 2 },
    { connectionId: 2, count: 1 },
  ]);
  const keys = [first, second, third].map((messageId) => ({ accountId: 1, messageId }));
  expect(await db.deleteUnknowns(pool, keys)).toBe(2);
  expect(await listUnknownIds(pool)).toEqual(new Set([third]));
});

test('a message whose day has no partition is an error, not a loss', async () => {
  const message = newMessage({ id: '0fffffff-ffff-7000-8000-000000000000' });
  await expect(db.insertMessages(pool, [message])).rejects.toThrow('no partition');
});

test('texts with every character of SQL, JSON and arrays are stored as they are', async () => {
  const body = `'"\\,{}NULL\n\t$1 é 💥 \u2028`;
  const message = newMessage({ body, clientId: body });
  await db.insertMessages(pool, [message, newMessage({ body: 'other' })]);
  const stored = await one(pool, sql`SELECT body, client_id AS "clientId" FROM message WHERE id = ${message.id}`);
  expect(stored).toEqual({ body, clientId: body });
  const [queued] = await db.listQueuedMessages(pool, {
    messages: [message],
    firstId: message.id,
    lastId: message.id,
  });
  expect(queued?.body).toBe(body);
});
