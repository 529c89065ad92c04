import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { ensurePartitions, listEndedDays } from '../core/db/partitions.ts';
import { exec, many, one, raw, type Sql, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { firstIdAt } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { DAY_MS } from '../core/time.ts';
import { createAccount } from './account-commands.ts';
import { deleteOldData } from './retention.ts';

const DAYS = 90;
/** The time of the old rows, and an instant at which they are 90 days and some hours old. */
const THEN = new Date('2031-03-31T12:00:00Z');
const LATER = new Date(THEN.getTime() + (DAYS + 1) * DAY_MS);

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: Pool;
let accountId: number;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'production' }));
  await ensurePartitions(pool, THEN);
  await ensurePartitions(pool, ago(5));
  await exec(pool, sql`UPDATE expiry_progress SET done_to = ${LATER}`);
});
afterEach(() => database[Symbol.asyncDispose]());

const idAt = (at: Date): string => firstIdAt(at).replace(/.$/, '1');
const ago = (days: number): Date => new Date(LATER.getTime() - days * DAY_MS);
const count = async (table: string, where: Sql = sql`true`): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*) AS n FROM ${raw(table)} WHERE ${where}`)).n;

/** Runs until there is nothing more to do, as the worker does. Returns the wait until the next run. */
async function removeAll(now = LATER): Promise<number> {
  for (let turn = 0; turn < 20; turn++) {
    const waitMs = await deleteOldData({ pool, log: silentLog, now: () => now }, { days: DAYS });
    if (waitMs > 0) return waitMs;
  }
  throw new Error('there was always more to do');
}

async function insertMessage(at: Date): Promise<string> {
  const id = idAt(at);
  await exec(
    pool,
    sql`INSERT INTO message (account_id, id, client_id, channel, source, simulation, sender, destination, body, parts,
          want_receipt)
        VALUES (${accountId}, ${id}, ${id}, 'SMS', 'API', false, 'ACME', '+393331234567', 'hello', 1, true)`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at) VALUES (${accountId}, ${id}, 3, 1, ${at})`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_part (account_id, message_id, part, connection_id, carrier_id, status)
        VALUES (${accountId}, ${id}, 1, 1, 'a1', 3)`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_event (account_id, message_id, kind) VALUES (${accountId}, ${id}, 'receipt')`,
  );
  await exec(
    pool,
    sql`INSERT INTO client_message_id (account_id, client_id, message_id, content_hash, created_at)
        VALUES (${accountId}, ${id}, ${id}, '\\x00', ${at})`,
  );
  await exec(
    pool,
    sql`INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts)
        VALUES (${accountId}, ${id}, ${id}, 'DELIVERY', ${at}, 'PENDING', 1)`,
  );
  await exec(pool, sql`INSERT INTO webhook_retry (account_id, id, message_id) VALUES (${accountId}, ${id}, ${id})`);
  return id;
}

const MESSAGE_TABLES = [
  'message',
  'message_state',
  'message_part',
  'message_event',
  'client_message_id',
  'webhook_delivery',
  'webhook_retry',
];

test('a message is deleted everywhere once its day is past the retention, and later messages are kept', async () => {
  await insertMessage(THEN);
  await insertMessage(ago(5));
  expect(await removeAll()).toBeGreaterThan(60_000);
  for (const table of MESSAGE_TABLES) expect([table, await count(table)]).toEqual([table, 1]);
  expect(await count('message', sql`id = ${idAt(ago(5))}`)).toBe(1);
  expect(await listEndedDays(pool, ago(DAYS))).toEqual([]);
});

test('a day is kept until all of it is past the retention', async () => {
  await insertMessage(THEN);
  await removeAll(new Date(THEN.getTime() + DAYS * DAY_MS + 11 * 3_600_000));
  expect(await count('message')).toBe(1);
  await removeAll(new Date(THEN.getTime() + DAYS * DAY_MS + 13 * 3_600_000));
  expect(await count('message')).toBe(0);
});

test('a day is kept while one of its messages is queued, and the days around it are deleted', async () => {
  const waiting = await insertMessage(THEN);
  await insertMessage(new Date(THEN.getTime() - DAY_MS));
  await exec(
    pool,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, size, ids)
        VALUES (${accountId}, 1, 0, 1, 1, ARRAY[${waiting}::uuid])`,
  );
  await removeAll();
  expect(await many(pool, sql`SELECT id FROM message`)).toEqual([{ id: waiting }]);
  await exec(pool, sql`DELETE FROM dispatch_chunk`);
  await removeAll();
  expect(await count('message')).toBe(0);
});

test('a day is kept while one of its messages waits for the end of its validity', async () => {
  const waiting = await insertMessage(THEN);
  await exec(
    pool,
    sql`INSERT INTO message_deadline (account_id, due_at, ids) VALUES (${accountId}, ${LATER}, ARRAY[${waiting}::uuid])`,
  );
  await removeAll();
  expect(await count('message')).toBe(1);
});

test('messages that were not checked for expiry keep their day, because they may still hold credit', async () => {
  await insertMessage(THEN);
  await exec(pool, sql`UPDATE expiry_progress SET done_to = ${new Date(THEN.getTime() - DAY_MS)}`);
  await removeAll();
  expect(await count('message')).toBe(1);
});

test('a day that is being read is not waited for but tried again soon', async () => {
  await insertMessage(THEN);
  await transaction(pool, async (tx) => {
    await exec(tx, sql`SELECT FROM message_state_20310331`);
    const waitMs = await removeAll();
    expect(waitMs).toBeLessThan(60_000);
    expect(await count('message')).toBe(0);
    expect(await count('message_state')).toBe(1);
  });
  await removeAll();
  expect(await count('message_state')).toBe(0);
});

async function insertConversation(chatId: string, lastAt: Date, unread: number): Promise<void> {
  await exec(pool, sql`INSERT INTO inbox (account_id) VALUES (${accountId}) ON CONFLICT DO NOTHING`);
  await exec(
    pool,
    sql`INSERT INTO conversation (account_id, chat_id, channel, peer, identity, unread, last_direction, last_type,
          last_text, last_at)
        VALUES (${accountId}, ${chatId}, 'SMS', ${chatId}, '390', ${unread}, 'INBOUND', 'TEXT', 'hello', ${lastAt})`,
  );
  await exec(
    pool,
    sql`INSERT INTO inbox_count (account_id, archived, channel, unread, conversations)
        VALUES (${accountId}, false, 'SMS', ${unread > 0}, 1)
        ON CONFLICT (account_id, archived, channel, unread)
        DO UPDATE SET conversations = inbox_count.conversations + 1`,
  );
}

const insertInboxMessage = (chatId: string, at: Date) =>
  exec(
    pool,
    sql`INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
        VALUES (${accountId}, ${chatId}, ${idAt(at)}, 'INBOUND', 'TEXT', 'hello', ${at})`,
  );

test('old messages and notes of an active conversation are deleted, and whole inactive ones with counts and labels', async () => {
  const [silent, lively] = [idAt(THEN), idAt(ago(3))];
  await insertConversation(silent, THEN, 2);
  await insertConversation(lively, ago(3), 1);
  await insertInboxMessage(silent, THEN);
  await insertInboxMessage(lively, THEN);
  await insertInboxMessage(lively, ago(3));
  for (const [at, account] of [
    [THEN, accountId],
    [THEN, 0],
    [ago(3), accountId],
  ] as const)
    await exec(
      pool,
      sql`INSERT INTO inbound_message (account_id, id, connection_id, source, destination, body, octets, parts,
            parts_received, received_at)
          VALUES (${account}, ${idAt(at)}, 1, '39333', '390', 'hello', '', 1, 1, ${at})`,
    );
  for (const [chatId, at] of [
    [silent, ago(3)],
    [lively, THEN],
    [lively, ago(3)],
  ] as const) {
    await exec(
      pool,
      sql`INSERT INTO inbox_note (account_id, chat_id, id, author, text, created_at)
          VALUES (${accountId}, ${chatId}, ${idAt(at)}, 'ada', 'a note', ${at})`,
    );
    await exec(
      pool,
      sql`INSERT INTO conversation_label (account_id, label_id, chat_id) VALUES (${accountId}, 1, ${chatId})
          ON CONFLICT DO NOTHING`,
    );
  }
  await removeAll();
  expect(await many(pool, sql`SELECT chat_id AS id FROM conversation`)).toEqual([{ id: lively }]);
  expect(await many(pool, sql`SELECT chat_id AS id, created_at AS at FROM inbox_note`)).toEqual([
    { id: lively, at: ago(3) },
  ]);
  expect(await many(pool, sql`SELECT chat_id AS id FROM conversation_label`)).toEqual([{ id: lively }]);
  expect(await many(pool, sql`SELECT unread, conversations FROM inbox_count ORDER BY 1`)).toEqual([
    { unread: true, conversations: 1 },
  ]);
  expect(await many(pool, sql`SELECT at FROM inbox_message`)).toEqual([{ at: ago(3) }]);
  expect(await many(pool, sql`SELECT received_at AS at FROM inbound_message`)).toEqual([{ at: ago(3) }]);
});

async function insertCampaign(completedAt: Date | null): Promise<number> {
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, audience, confirmed_at, completed_at, destination_type,
          destinations, numbers, number_countries, number_channels)
        VALUES (${accountId}, 'Spring', ${completedAt ? 3 : 2}, 'SMS', '{"total": 3, "unlisted": 1}', ${THEN},
          ${completedAt}, 2, '{+393331,+393332}', '{+393331,+393332}', '{IT,IT}', '{1,1}')
        RETURNING id`,
  );
  await exec(pool, sql`INSERT INTO campaign_run (account_id, campaign_id, recipients) VALUES (${accountId}, ${id}, 3)`);
  await exec(
    pool,
    sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros)
        SELECT ${accountId}, ${id}, 'IT', '+39333' || n, 1, 0 FROM generate_series(1, 2) AS n`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_batch (account_id, campaign_id, fallback_number, channel, country, first_destination, last_destination,
          message_ids)
        VALUES (${accountId}, ${id}, 0, 1, 'IT', '+393331', '+393332', '{}')`,
  );
  return id;
}

test('the recipients and numbers of an old campaign are deleted; a running one keeps them', async () => {
  const ended = await insertCampaign(THEN);
  const recent = await insertCampaign(ago(3));
  const running = await insertCampaign(null);
  await removeAll();
  const kept = await many<{ id: number }>(
    pool,
    sql`SELECT DISTINCT campaign_id AS id FROM campaign_recipient ORDER BY 1`,
  );
  expect(kept.map(({ id }) => id)).toEqual([recent, running]);
  expect(await count('campaign_batch', sql`campaign_id = ${ended}`)).toBe(0);
  const named = await many(
    pool,
    sql`SELECT id FROM campaign WHERE destinations <> '{}' AND numbers <> '{}' ORDER BY 1`,
  );
  expect(named).toEqual([{ id: recent }, { id: running }]);
  const { audience } = await one<{ audience: unknown }>(pool, sql`SELECT audience FROM campaign WHERE id = ${ended}`);
  expect(audience).toEqual({ total: 3, unlisted: 3 });
});

test('events that were never sent are deleted, and the audit log is kept for ever', async () => {
  const insertOutbox = (at: Date) =>
    exec(
      pool,
      sql`INSERT INTO webhook_outbox (account_id, seed, kind, message_ids, at, errors)
          VALUES (${accountId}, ${idAt(at)}, 'READ', '{}', '{}', '{}')`,
    );
  await insertOutbox(THEN);
  await insertOutbox(ago(3));
  await exec(
    pool,
    sql`INSERT INTO audit_entry (account_id, id, actor_kind, action, subject, detail)
        VALUES (${accountId}, ${idAt(THEN)}, 'operator', 'account.create', 'account:1', '{}')`,
  );
  await removeAll();
  expect(await count('webhook_outbox')).toBe(1);
  expect(await count('audit_entry', sql`id = ${idAt(THEN)}`)).toBe(1);
});
