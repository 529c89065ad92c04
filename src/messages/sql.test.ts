import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { one, sql } from '../core/db/query.ts';
import { insertMessages } from './new-messages.ts';
import * as db from './store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, message_part, client_message_id`));

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
