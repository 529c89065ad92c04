import { beforeEach, expect, test } from 'vitest';
import { bulkId } from '../../test/support/bulk-id.ts';
import { testDatabase } from '../../test/support/database.ts';
import { registerWebhook } from '../../test/support/http/webhook.ts';
import { reset } from '../../test/support/reset.ts';
import { createPool } from '../core/db/pool.ts';
import { many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import type { NewWebhookEvent } from './events.ts';
import { insertOutbox, listOutbox, UNDIVIDED } from './outbox.ts';

const database = testDatabase();
const { pool } = database;
const URL = 'https://receiver.example/';

beforeEach(() => reset(pool, sql`TRUNCATE webhook_endpoint, webhook_outbox`));

const eventOf = (accountId: number): NewWebhookEvent => ({
  accountId,
  kind: 'DELIVERY',
  // One other id in 256 looks like that of a single send, which gets a row of its own.
  messageId: bulkId(),
  status: STATUS.DELIVERED,
});
const inOutbox = async (): Promise<string[]> =>
  (await many<{ id: string }>(pool, sql`SELECT unnest(message_ids) AS id FROM webhook_outbox`)).map(({ id }) => id);

test('of a batch of many accounts exactly the events of those with a webhook are kept', async () => {
  await registerWebhook(pool, { accountId: 2, url: URL });
  const events = [1, 2, 3, 2, 1].map(eventOf);
  await insertOutbox(pool, events);
  const kept = events.filter(({ accountId }) => accountId === 2).map(({ messageId }) => messageId);
  expect((await inOutbox()).sort()).toEqual(kept.sort());
});

test('from the registration of a webhook on, another process publishes its events, whatever it did before', async () => {
  const other = createPool(database.connectionString, { max: 1, applicationName: 'other', log: silentLog });
  // Often enough for PostgreSQL to keep the plan of the statement.
  for (let i = 0; i < 10; i++) await insertOutbox(other, [eventOf(1)]);
  expect(await inOutbox()).toEqual([]);
  await registerWebhook(pool, { accountId: 1, url: URL });
  const event = eventOf(1);
  await insertOutbox(other, [event]);
  expect(await inOutbox()).toEqual([event.messageId]);
  await other.end();
});

test('rows are loaded up to a number of rows and up to a number of events, the oldest first, without those held', async () => {
  await registerWebhook(pool, { accountId: 1, url: URL });
  for (const count of [3, 1, 1, 1])
    await insertOutbox(
      pool,
      Array.from({ length: count }, () => eventOf(1)),
    );
  const load = async (rows: number, events: number, heldIds: readonly number[] = []) => {
    const limit = { rows, events };
    const found = await listOutbox(pool, {
      wants: [{ accountId: 1, endpoint: UNDIVIDED, single: limit, other: limit }],
      heldIds,
    });
    return found.map((row) => ({ id: row.id, events: row.messageIds.length }));
  };
  const [first] = await load(1, 1);
  expect((await load(9, 9)).map(({ events }) => events)).toEqual([3, 1, 1, 1]);
  expect((await load(9, 4)).map(({ events }) => events)).toEqual([3, 1]);
  expect((await load(9, 1)).map(({ events }) => events)).toEqual([3]);
  expect((await load(2, 9, [first?.id ?? 0])).map(({ events }) => events)).toEqual([1, 1]);
  expect(await load(9, 0)).toEqual([]);
});
