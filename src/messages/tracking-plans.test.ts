import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { explain } from '../../test/support/plans.ts';
import { newMessage } from '../../test/support/queue.ts';
import * as keys from '../accounts/api-keys.ts';
import { type Db, exec, plainArray, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import * as events from './events.ts';
import { insertClientIds } from './client-ids.ts';
import { insertMessages } from './new-messages.ts';
import * as bulk from './send-response.ts';
import * as db from './status.ts';
import * as messages from './store.ts';

const { pool } = testDatabase();

const ACCOUNTS = 50;
const MESSAGES = 20_000;
const accountId = 7;

let ids: string[];
beforeAll(async () => {
  const stored = Array.from({ length: MESSAGES }, (_, n) => newMessage({ accountId: 1 + (n % ACCOUNTS) }));
  for (let at = 0; at < MESSAGES; at += 1000) await store(stored.slice(at, at + 1000));
  await exec(pool, sql`INSERT INTO account (name) SELECT 'account ' || n FROM generate_series(1, ${ACCOUNTS}) AS n`);
  await exec(
    pool,
    sql`INSERT INTO api_key (account_id, operations) SELECT 1 + n % 50, '{}' FROM generate_series(1, 5000) AS n`,
  );
  await exec(
    pool,
    sql`INSERT INTO api_key_value (key_hash, account_id, api_key_id, prefix) SELECT sha256(id::text::bytea), account_id, id, '' FROM api_key`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_part (account_id, message_id, part, connection_id, carrier_id, status)
        SELECT account_id, id, 1, 1, id::text, 1 FROM message`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_event (account_id, message_id, kind) SELECT account_id, id, 'attempt' FROM message`,
  );
  await exec(pool, sql`ANALYZE`);
  ids = stored.filter((message) => message.accountId === accountId).map((message) => message.id);
});

async function store(batch: ReturnType<typeof newMessage>[]): Promise<void> {
  await insertMessages(pool, batch);
  const state = {
    attempts: 1,
    connectionId: 1,
    errorCode: null,
    errorText: null,
    creditHeld: false,
    creditReturned: false,
  } as const;
  await messages.insertStates(
    pool,
    batch.map((m) => ({
      ...state,
      accountId: m.accountId,
      id: m.id,
      status: 1,
      carrierId: m.id,
      submittedAt: new Date(),
      possibleDuplicate: false,
      channel: m.channel,
      campaignId: null,
    })),
  );
  const claim = { contentHash: Buffer.alloc(32) };
  await insertClientIds(
    pool,
    batch.map((m) => ({ ...claim, accountId: m.accountId, messageId: m.id, clientId: newId() })),
  );
}

const page = { accountId, userId: null, page: 0, limit: 10 };
/** Look-ups of requests. */
const LOOK_UPS: Record<string, (to: Db) => Promise<unknown>> = {
  'a message by our id': (to) => db.listRecordsById(to, { accountId, ids: ids.slice(0, 1) }),
  'many messages by our ids': (to) => db.listRecordsById(to, { accountId, ids: ids.slice(0, 100) }),
  'messages by the client’s ids': (to) => db.listMessageIdsByClientId(to, { accountId, clientIds: ['a', 'b', 'c'] }),
  'the history of a message': (to) => db.findHistory(to, { accountId, id: ids[0] ?? '' }),
  'its parts': (to) => db.listPartHistory(to, { accountId, id: ids[0] ?? '' }),
  'its events': (to) => events.listEvents(to, { accountId, messageId: ids[0] ?? '' }),
  'a bulk request': (to) => bulk.findBulkRequest(to, { accountId, globalId: 'one' }),
  'a page of keys': (to) => keys.listKeys(to, page),
  'a key by its value': (to) => keys.findKeyByHash(to, { accountId, hash: Buffer.alloc(32) }),
};

/** Tables of which each account has a small share. */
const isShared = (table: string | null): boolean =>
  /^(message|message_state|message_part|message_event)_\d|^(api_key|api_key_value|client_message_id)$/.test(
    table ?? '',
  );

test.each(Object.keys(LOOK_UPS))('%s is found by index behind the second wall', async (name) => {
  const scans = await explain(tenant(pool, { accountId }), (to) => LOOK_UPS[name]?.(to) ?? Promise.resolve());
  expect(scans.length).toBeGreaterThan(0);
  expect(scans.filter((scan) => scan.how === 'Seq Scan' && isShared(scan.table))).toEqual([]);
});

test('the same look-ups read the same tables in the same way with and without the wall', async () => {
  for (const [name, look] of Object.entries(LOOK_UPS)) {
    const walled = await explain(tenant(pool, { accountId }), look);
    const own = await explain(pool, look);
    const read = own.map((scan) => scan.table);
    expect(
      walled.filter((scan) => read.includes(scan.table)),
      name,
    ).toEqual(expect.arrayContaining(own));
  }
});

test('on a full day, the states of a thousand messages are found by the key, whatever else is indexed', async () => {
  const own = ACCOUNTS + 1;
  const full = Array.from({ length: 50_000 }, newId);
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
        SELECT ${own}, id, 3, 1, now() FROM unnest(${plainArray(full)}::uuid[]) AS id`,
  );
  await exec(pool, sql`ANALYZE message_state`);
  const asked = full.filter((_, n) => n % 50 === 0);
  const scans = await explain(pool, (to) => db.listRecordsById(to, { accountId: own, ids: asked }));
  const ofStates = scans.flatMap(({ index }) => (index?.startsWith('message_state_') ? [index] : []));
  expect(ofStates.length).toBeGreaterThan(0);
  expect(ofStates.filter((index) => !index.endsWith('_pkey'))).toEqual([]);
});
