import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { ensurePartitions } from '../core/db/partitions.ts';
import { exec, many, one, raw, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { firstIdAt, newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { claimInboxes } from '../inbox/store.ts';
import { createAccount } from './account-commands.ts';
import * as db from './retention.ts';
import { deleteOldData } from './retention.ts';

const { pool } = testDatabase();

const BEFORE = new Date('2031-03-31T12:00:00Z');
const EARLIER = new Date(BEFORE.getTime() - 1);
const OLD = { before: BEFORE, limit: 100 };

const TABLES = [
  'client_message_id',
  'inbound_message',
  'inbox',
  'inbox_message',
  'conversation',
  'inbox_count',
  'webhook_retry',
  'webhook_delivery',
  'webhook_outbox',
  'dispatch_chunk',
  'lost_chunk',
  'message_deadline',
  'campaign',
  'campaign_run',
  'campaign_recipient',
  'campaign_batch',
  'campaign_fallback',
  'campaign_lane',
];

let [own, other] = [0, 0];
beforeAll(() => ensurePartitions(pool, BEFORE));
beforeEach(async () => {
  // Faster than TRUNCATE: the tables are nearly empty, and some have many partitions.
  for (const table of TABLES) await exec(pool, sql`DELETE FROM ${raw(table)}`);
  own = (await createAccount(pool, { name: 'Acme', plan: 'production' })).accountId;
  other = (await createAccount(pool, { name: 'Other', plan: 'production' })).accountId;
});

const count = async (table: string): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*) AS n FROM ${raw(table)}`)).n;

type Talk = { readonly accountId?: number; readonly at?: Date; readonly unread?: number; readonly archived?: boolean };
async function insertConversation({ accountId = own, at = EARLIER, unread = 1, archived = false }: Talk = {}) {
  const chatId = newId();
  await exec(pool, sql`INSERT INTO inbox (account_id) VALUES (${accountId}) ON CONFLICT DO NOTHING`);
  await exec(
    pool,
    sql`INSERT INTO conversation (account_id, chat_id, channel, peer, identity, unread, archived, last_direction,
          last_type, last_text, last_at)
        VALUES (${accountId}, ${chatId}, 'SMS', ${chatId}, '390', ${unread}, ${archived}, 'INBOUND', 'TEXT', 'hello', ${at})`,
  );
  return chatId;
}

test('what is exactly as old as the retention is kept, and deleted a moment later', async () => {
  for (const at of [BEFORE, EARLIER]) {
    await exec(
      pool,
      sql`INSERT INTO client_message_id (account_id, client_id, message_id, content_hash, created_at)
          VALUES (${own}, ${newId()}, ${newId()}, '\\x00', ${at})`,
    );
    await exec(
      pool,
      sql`INSERT INTO inbound_message (account_id, id, connection_id, source, destination, body, octets, parts,
            parts_received, received_at)
          VALUES (${own}, ${newId()}, 1, '39333', '390', 'hello', '', 1, 1, ${at})`,
    );
    await exec(
      pool,
      sql`INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
          VALUES (${own}, ${newId()}, ${newId()}, 'INBOUND', 'TEXT', 'hello', ${at})`,
    );
    await insertConversation({ at });
  }
  const deleted = [
    await db.deleteClientIds(pool, OLD),
    await db.deleteInboundMessages(pool, OLD),
    await db.deleteInboxMessages(pool, OLD),
    await db.deleteConversations(pool, { accountId: own, ...OLD }),
  ];
  expect(deleted).toEqual([1, 1, 1, 1]);
  expect(await db.findInactiveInbox(pool, OLD)).toBeUndefined();
});

test('a batch deletes no more than its limit', async () => {
  for (let n = 0; n < 3; n++) await insertConversation();
  expect(await db.deleteConversations(pool, { accountId: own, before: BEFORE, limit: 2 })).toBe(2);
  expect(await count('conversation')).toBe(1);
});

test('an account is found by its own conversations, archived ones included', async () => {
  await insertConversation({ at: BEFORE });
  expect(await db.findInactiveInbox(pool, OLD)).toBeUndefined();
  await insertConversation({ accountId: other, archived: true });
  expect(await db.findInactiveInbox(pool, OLD)).toEqual({ accountId: other });
});

test('the conversations of one account and their counts are deleted, archived or not, and no others', async () => {
  await insertConversation();
  await insertConversation({ unread: 0 });
  await insertConversation({ archived: true });
  const kept = [await insertConversation({ at: BEFORE }), await insertConversation({ accountId: other })];
  for (const accountId of [own, other])
    for (const archived of [false, true])
      for (const unread of [false, true])
        for (const channel of ['SMS', 'RCS'])
          await exec(
            pool,
            sql`INSERT INTO inbox_count (account_id, archived, channel, unread, conversations)
                VALUES (${accountId}, ${archived}, ${channel}, ${unread}, 5)`,
          );
  expect(await db.deleteConversations(pool, { accountId: own, ...OLD })).toBe(3);
  const left = await many<{ id: string }>(pool, sql`SELECT chat_id AS id FROM conversation`);
  expect(new Set(left.map(({ id }) => id))).toEqual(new Set(kept));
  const changed = await many(
    pool,
    sql`SELECT account_id AS "accountId", archived, channel, unread, conversations FROM inbox_count
        WHERE conversations <> 5 ORDER BY archived, unread`,
  );
  expect(changed).toEqual([
    { accountId: own, archived: false, channel: 'SMS', unread: false, conversations: 4 },
    { accountId: own, archived: false, channel: 'SMS', unread: true, conversations: 4 },
    { accountId: own, archived: true, channel: 'SMS', unread: true, conversations: 4 },
  ]);
});

test('retries stay while their own event is in the log, and while they are younger', async () => {
  const beforeId = firstIdAt(BEFORE);
  const logged = firstIdAt(new Date(BEFORE.getTime() - 2));
  const unlogged = firstIdAt(EARLIER);
  for (const id of [logged, unlogged, beforeId])
    await exec(pool, sql`INSERT INTO webhook_retry (account_id, id, message_id) VALUES (${own}, ${id}, ${id})`);
  for (const [accountId, id] of [
    [own, logged],
    [other, unlogged],
  ] as const)
    await exec(
      pool,
      sql`INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts)
          VALUES (${accountId}, ${id}, ${id}, 'DELIVERY', ${BEFORE}, 'PENDING', 1)`,
    );
  await db.deleteRetries(pool, { beforeId });
  expect(await many(pool, sql`SELECT id FROM webhook_retry ORDER BY id`)).toEqual([{ id: logged }, { id: beforeId }]);
});

test('an event of exactly that age is kept', async () => {
  const beforeId = firstIdAt(BEFORE);
  await exec(
    pool,
    sql`INSERT INTO webhook_outbox (account_id, seed, kind, message_ids, at, errors)
        VALUES (${own}, ${beforeId}, 'READ', '{}', '{}', '{}')`,
  );
  expect(await db.deleteOutbox(pool, { beforeId })).toBe(0);
});

test('what is known of lost messages is kept as long as one of them could still exist', async () => {
  const [old, young] = [firstIdAt(EARLIER), firstIdAt(BEFORE)];
  for (const ids of [[old], [old, young]])
    await exec(
      pool,
      sql`INSERT INTO lost_chunk (account_id, connection_id, priority, attempt, available_at, ids)
          VALUES (${own}, 1, 0, 0, now(), ${ids}::uuid[])`,
    );
  expect(await db.deleteLostChunks(pool, { beforeId: young })).toBe(1);
  expect(await count('lost_chunk')).toBe(1);
});

test('a message waits in a day from its first id on, below that of the next day, in the queue or for its deadline', async () => {
  const [firstId, endId] = [firstIdAt(BEFORE), firstIdAt(new Date(BEFORE.getTime() + DAY_MS))];
  const insertions = {
    chunk: (id: string) =>
      sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, size, ids)
          VALUES (${own}, 1, 0, 1, 1, ARRAY[${id}::uuid])`,
    deadline: (id: string) =>
      sql`INSERT INTO message_deadline (account_id, due_at, ids) VALUES (${own}, ${BEFORE}, ARRAY[${id}::uuid])`,
  };
  for (const insert of Object.values(insertions)) {
    const waits: boolean[] = [];
    for (const id of [firstIdAt(EARLIER), firstId, endId]) {
      await reset(pool, sql`TRUNCATE dispatch_chunk, message_deadline`);
      await exec(pool, insert(id));
      waits.push(await db.hasWaitingMessage(pool, { firstId, endId }));
    }
    expect(waits).toEqual([false, true, false]);
  }
});

/** Inserts a campaign with its run, its steps, and recipients in two countries. `id`: that of another account's. */
async function insertCampaign({ accountId = own, id }: { accountId?: number; id?: number } = {}): Promise<number> {
  const campaign = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, id, name, status, sending_mode, audience, confirmed_at, completed_at, destination_type, destinations)
        OVERRIDING SYSTEM VALUE
        VALUES (${accountId}, coalesce(${id ?? null}::bigint, nextval(pg_get_serial_sequence('campaign', 'id'))), 'Spring',
          3, 'SMS', '{"total": 3}', ${EARLIER}, ${EARLIER}, 2, '{+391}')
        RETURNING id`,
  );
  const key = sql`${accountId}, ${campaign.id}`;
  await exec(pool, sql`INSERT INTO campaign_run (account_id, campaign_id, recipients) VALUES (${key}, 3)`);
  for (const [country, destination] of [
    ['IT', '+391'],
    ['IT', '+392'],
    ['FR', '+391'],
  ])
    await exec(
      pool,
      sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros)
          VALUES (${key}, ${country}, ${destination}, 1, 0)`,
    );
  await exec(
    pool,
    sql`INSERT INTO campaign_batch (account_id, campaign_id, fallback_number, channel, country, first_destination, last_destination,
          message_ids)
        VALUES (${key}, 0, 1, 'IT', '+391', '+392', '{}')`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_fallback (account_id, campaign_id, destination, fallback_number, message_id, reason)
        VALUES (${key}, '+391', 1, ${newId()}, 'TIMEOUT')`,
  );
  await exec(pool, sql`INSERT INTO campaign_lane (account_id, campaign_id, country) VALUES (${key}, 'IT')`);
  return campaign.id;
}

/** Lists the campaigns that have rows in a table. */
const campaignsIn = (table: string): Promise<{ accountId: number; id: number }[]> =>
  many(pool, sql`SELECT DISTINCT account_id AS "accountId", campaign_id AS id FROM ${raw(table)} ORDER BY 1, 2`);

test('a campaign is old from the moment on, and as long as not all its recipients are unlisted', async () => {
  const id = await insertCampaign();
  const found = () => db.findOldCampaign(pool, OLD);
  expect(await found()).toEqual({ accountId: own, campaignId: id });
  await exec(pool, sql`UPDATE campaign SET completed_at = ${BEFORE}`);
  expect(await found()).toBeUndefined();
  await exec(pool, sql`UPDATE campaign SET completed_at = ${EARLIER}, audience = '{"unlisted": 3}'`);
  expect(await found()).toBeUndefined();
});

test('the run of one campaign says nothing about another, of the same account or under the same id', async () => {
  const done = await insertCampaign();
  await exec(pool, sql`UPDATE campaign SET audience = '{"unlisted": 3}'`);
  await exec(pool, sql`UPDATE campaign SET completed_at = NULL WHERE id = ${await insertCampaign()}`);
  await insertCampaign({ accountId: other, id: done });
  await exec(pool, sql`UPDATE campaign SET completed_at = NULL WHERE account_id = ${other}`);
  await exec(pool, sql`UPDATE campaign_run SET recipients = 9 WHERE campaign_id <> ${done} OR account_id = ${other}`);
  expect(await db.findOldCampaign(pool, OLD)).toBeUndefined();
});

test('recipients are deleted one by one of one campaign alone', async () => {
  const id = await insertCampaign();
  const [sibling] = [await insertCampaign(), await insertCampaign({ accountId: other, id })];
  expect(await db.deleteRecipients(pool, { accountId: own, campaignId: id, limit: 1 })).toBe(1);
  expect(await db.deleteRecipients(pool, { accountId: own, campaignId: id, limit: 100 })).toBe(2);
  expect(await campaignsIn('campaign_recipient')).toEqual([
    { accountId: own, id: sibling },
    { accountId: other, id },
  ]);
  expect(await count('campaign_recipient')).toBe(6);
});

test('the steps and numbers of one campaign alone are deleted, once its recipients are', async () => {
  const id = await insertCampaign();
  const [sibling] = [await insertCampaign(), await insertCampaign({ accountId: other, id })];
  await exec(pool, sql`UPDATE campaign_run SET recipients = 7 WHERE account_id = ${own} AND campaign_id = ${id}`);
  expect(await db.deleteCampaignSteps(pool, { accountId: own, campaignId: id })).toBe(1);
  const left = [
    { accountId: own, id: sibling },
    { accountId: other, id },
  ];
  for (const table of ['campaign_batch', 'campaign_fallback', 'campaign_lane'])
    expect(await campaignsIn(table)).toEqual(left);
  expect(
    await many(
      pool,
      sql`SELECT account_id AS "accountId", id FROM campaign WHERE destinations <> '{}' ORDER BY account_id, id`,
    ),
  ).toEqual(left);
  const { audience } = await one<{ audience: unknown }>(
    pool,
    sql`SELECT audience FROM campaign WHERE account_id = ${own} AND id = ${id}`,
  );
  expect(audience).toEqual({ total: 3, unlisted: 7 });
});

const run = () =>
  deleteOldData({ pool, log: silentLog, now: () => new Date(BEFORE.getTime() + 10 * DAY_MS) }, { days: 10 });

test('a run that deleted something is followed by the next at once, and one that did not, in an hour', async () => {
  await insertConversation();
  expect([await run(), await run()]).toEqual([0, HOUR_MS]);
});

test('the steps of a campaign are deleted in a run after its recipients', async () => {
  await insertCampaign();
  const seen: number[][] = [];
  for (let n = 0; n < 2; n++) {
    await run();
    seen.push([await count('campaign_recipient'), await count('campaign_batch')]);
  }
  expect(seen).toEqual([
    [0, 1],
    [0, 0],
  ]);
});

test('conversations are deleted while the inbox of their account is quiet', async () => {
  await insertConversation();
  const deleting = await transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [own] });
    const running = run();
    await until('the deletion to wait', async () => (await countLockWaits(pool)) > 0);
    return { running };
  });
  expect(await deleting.running).toBe(0);
});
