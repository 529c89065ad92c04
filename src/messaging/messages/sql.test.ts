import { insertMessages } from './new/sql.ts';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exec, one, sql } from '../../platform/db/query.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { newMessage } from '../../../test/support/queue.ts';
import * as db from './sql.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool;
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => exec(pool, sql`TRUNCATE message, message_state, message_part, client_message_id`));

test('a message whose day has no partition is an error, not a loss', async () => {
  const message = newMessage({ id: '0fffffff-ffff-7000-8000-000000000000' });
  await expect(insertMessages(pool, [message])).rejects.toThrow('no partition');
});

test('texts with every character of SQL, JSON and arrays are stored as they are', async () => {
  const body = `'"\\,{}NULL\n\t$1 é 💥 \u2028`;
  const message = newMessage({ body, clientId: body });
  await insertMessages(pool, [message, newMessage({ body: 'other' })]);
  const stored = await one(pool, sql`SELECT body, client_id AS "clientId" FROM message WHERE id = ${message.id}`);
  expect(stored).toEqual({ body, clientId: body });
  const [queued] = await db.listQueuedMessages(pool, {
    messages: [message],
    firstId: message.id,
    lastId: message.id,
  });
  expect(queued?.[4]).toBe(body);
});
