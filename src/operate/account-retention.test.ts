import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { actor, draft } from '../../test/support/drafts.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { until } from '../../test/support/until.ts';
import type { App } from '../core/http/app.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { matchReceipts } from '../messages/receipt-store.ts';
import { createAccount } from './account-commands.ts';
import { accountRetentionRoutes, deleteForAccounts } from './account-retention.ts';
import { messageContentRoutes } from './message-content.ts';

let inbox: TestInbox;
let app: App;
beforeAll(async () => {
  inbox = await openTestInbox();
  app = serveRoutes([accountRetentionRoutes, messageContentRoutes], inbox.deps);
});
afterAll(async () => {
  await app.close();
  await inbox[Symbol.asyncDispose]();
});

async function call(method: 'PUT' | 'DELETE', path: string, body?: object) {
  const { statusCode, payload } = await app.inject({
    method,
    url: `/api/partner-gateway/v1${path}`,
    headers: { 'x-api-key': inbox.account.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: statusCode, body: payload === '' ? null : JSON.parse(payload) };
}
const keep = (settings: object) => call('PUT', '/account/retention', settings);
/** Runs until nothing more is due, as a worker does. */
async function clean(): Promise<void> {
  const { pool } = inbox.database;
  while ((await deleteForAccounts({ pool, log: silentLog, now: () => new Date(Date.now() + 1000) })) === 0);
}

/** Sends a message and, unless it waits, gives it a final state, as its receipt would. */
async function send(body: string, { waits = false } = {}): Promise<string> {
  const { accountId } = inbox.account;
  const verdict = await inbox.deps.accept.one(actor(accountId), draft({ destination: '+393331234567', body }));
  if (verdict.kind !== 'accepted') throw new Error(verdict.kind);
  const { pool } = inbox.database;
  const { id } = await one<{ id: string }>(pool, sql`SELECT id FROM message WHERE body = ${body}`);
  if (!waits)
    await exec(
      pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, updated_at, receipt_text)
          VALUES (${accountId}, ${id}, ${STATUS.DELIVERED}, 1, ${inbox.connectionId}, ${id}, now(), ${`text:${body}`})`,
    );
  return id;
}
const textOf = async (id: string): Promise<string | undefined> =>
  (await many<{ body: string }>(inbox.database.pool, sql`SELECT body FROM message WHERE id = ${id}`))[0]?.body;

test('the content of one message is deleted, with what receipts quote, also of those to come', async () => {
  const { pool } = inbox.database;
  const id = await send('Your result is positive');
  expect((await call('DELETE', `/messages/${id}/content`)).status).toBe(204);
  const [row] = await many(
    pool,
    sql`SELECT m.body, s.receipt_text AS receipt, m.destination FROM message m JOIN message_state s USING (account_id, id)
        WHERE m.id = ${id}`,
  );
  expect(row).toEqual({ body: '', receipt: null, destination: '+393331234567' });
  const receipt = {
    carrierIds: [id],
    state: 'DELIVERED',
    doneAt: null,
    errorCode: null,
    raw: 'text:Your result',
  } as const;
  const found = await matchReceipts(
    pool,
    inbox.connectionId,
    [{ ...receipt, destination: null, sender: null } as never],
    new Date(),
  );
  expect(found).toMatchObject([{ kind: 'hit', erased: true }]);
});

test('the content of a received message is deleted from the conversation, too', async () => {
  const { pool } = inbox.database;
  await inbox.write('I am ill', { from: '393331230001' });
  const { id } = await one<{ id: string }>(pool, sql`SELECT id FROM inbound_message WHERE body = 'I am ill'`);
  expect((await call('DELETE', `/messages/${id}/content`)).status).toBe(204);
  const left = await one<{ left: number }>(
    pool,
    sql`SELECT (SELECT count(*) FROM inbound_message WHERE body = 'I am ill' OR position('ill'::bytea IN octets) > 0)
          + (SELECT count(*) FROM inbox_message WHERE text = 'I am ill')
          + (SELECT count(*) FROM conversation WHERE last_text = 'I am ill') AS left`,
  );
  expect(left).toEqual({ left: 0 });
});

test('the content of the newest message is deleted from the list, although the person wrote it before the others', async () => {
  const { pool } = inbox.database;
  const at = new Date();
  const write = (text: string, sentAt: Date) =>
    inbox.write(text, { from: '393331230009', to: '100', rich: { at: sentAt } });
  await write('It is nothing', at);
  await write('I am pale', new Date(at.getTime() - 60_000));
  const { id } = await one<{ id: string }>(pool, sql`SELECT id FROM inbound_message WHERE body = 'I am pale'`);
  expect((await call('DELETE', `/messages/${id}/content`)).status).toBe(204);
  expect(await many(pool, sql`SELECT last_text AS text FROM conversation WHERE peer = '+393331230009'`)).toEqual([
    { text: '' },
  ]);
});

test('the content of a message that waits, or of another account, is not deleted', async () => {
  const id = await send('It waits', { waits: true });
  expect((await call('DELETE', `/messages/${id}/content`)).status).toBe(409);
  expect((await call('DELETE', '/messages/0f8fad5b-d9cb-469f-a165-70867728950e/content')).status).toBe(404);
  expect(await textOf(id)).toBe('It waits');
});

test('texts of an account are deleted after its own days, but not those of messages without a final status', async () => {
  const [done, waiting] = [await send('Done'), await send('Waiting', { waits: true })];
  await clean();
  expect(await textOf(done)).toBe('Done');
  expect((await keep({ bodiesDays: 0 })).body).toMatchObject({ bodiesDays: 0, messagesDays: null });
  await clean();
  expect([await textOf(done), await textOf(waiting)]).toEqual(['', 'Waiting']);
  await exec(
    inbox.database.pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
        VALUES (${inbox.account.accountId}, ${waiting}, ${STATUS.DELIVERED}, 1, now())`,
  );
  await clean();
  expect(await textOf(waiting)).toBe('');
  await keep({ bodiesDays: null });
});

test('messages and received messages are deleted after the days of the account', async () => {
  const { pool } = inbox.database;
  const [done, waiting] = [await send('Old'), await send('Old and waiting', { waits: true })];
  await inbox.write('An old question', { from: '393331230002' });
  await keep({ messagesDays: 1, inboundDays: 1 });
  await clean();
  expect([await textOf(done), await textOf(waiting)]).toEqual(['Old', 'Old and waiting']);
  const now = (): Date => new Date(Date.now() + 2 * 86_400_000);
  while ((await deleteForAccounts({ pool, log: silentLog, now })) === 0);
  expect([await textOf(done), await textOf(waiting)]).toEqual([undefined, 'Old and waiting']);
  expect(await many(pool, sql`SELECT id FROM inbound_message`)).toEqual([]);
  expect(await many(pool, sql`SELECT chat_id FROM conversation`)).toEqual([]);
});

test('each batch of texts begins behind the one before, and the next pass with the oldest that was not final', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const waiting = await send('Waiting for its end', { waits: true });
  const done = await send('Final');
  await keep({ bodiesDays: 0, messagesDays: null, inboundDays: null });
  const now = (): Date => new Date(Date.now() + 1000);
  const places = () =>
    one(
      pool,
      sql`SELECT bodies_from AS "from", bodies_to AS "to" FROM account_retention WHERE account_id = ${accountId}`,
    );
  await exec(pool, sql`UPDATE account_retention SET bodies_from = ${waiting}, bodies_to = ${waiting}`);
  expect(await deleteForAccounts({ pool, log: silentLog, now })).toBe(0);
  expect(await places()).toEqual({ from: waiting, to: done });
  expect(await deleteForAccounts({ pool, log: silentLog, now })).toBeGreaterThan(0);
  expect(await places()).toEqual({ from: waiting, to: waiting });
  await keep({ bodiesDays: null });
});

test('an account whose data cannot be deleted keeps no other from its turn', async () => {
  const { pool } = inbox.database;
  const broken = await createAccount(pool, { name: 'Broken', plan: 'unlimited' });
  const done = await send('After the broken one');
  await keep({ bodiesDays: 0 });
  // A time before all times.
  await exec(
    pool,
    sql`INSERT INTO account_retention (account_id, messages_days) VALUES (${broken.accountId}, 2147483647)`,
  );
  await clean();
  expect(await textOf(done)).toBe('');
  await exec(pool, sql`DELETE FROM account_retention WHERE account_id = ${broken.accountId}`);
  await keep({ bodiesDays: null });
});

test('recipients of campaigns and what conversations show of old messages go with the messages', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  await inbox.write('A question', { from: '393331230003' });
  const id = await send('Its answer');
  await exec(
    pool,
    sql`INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
        SELECT account_id, chat_id, ${id}, 'OUTBOUND', 'TEXT', 'Its answer', now() FROM conversation WHERE account_id = ${accountId}`,
  );
  await exec(
    pool,
    sql`UPDATE conversation c SET last_text = t.text, last_at = t.at FROM inbox_message t
        WHERE c.account_id = ${accountId} AND t.account_id = ${accountId} AND t.id = ${id} AND c.chat_id = t.chat_id`,
  );
  const { campaignId } = await one<{ campaignId: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at, completed_at)
        VALUES (${accountId}, 'Old', 3, 'SMS', now(), now()) RETURNING id AS "campaignId"`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_run (account_id, campaign_id, recipients) VALUES (${accountId}, ${campaignId}, 1)`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros)
        VALUES (${accountId}, ${campaignId}, 'IT', '+393331230003', 1, 0)`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_batch (account_id, campaign_id, fallback_number, channel, country, first_destination,
          last_destination, message_ids)
        VALUES (${accountId}, ${campaignId}, 0, 1, 'IT', '+393331230003', '+393331230003', '{}')`,
  );
  await keep({ messagesDays: 1 });
  const now = (): Date => new Date(Date.now() + 2 * 86_400_000);
  while ((await deleteForAccounts({ pool, log: silentLog, now })) === 0);
  const left = await one(
    pool,
    sql`SELECT (SELECT count(*) FROM campaign_recipient) AS recipients, (SELECT count(*) FROM campaign_batch) AS batches,
          (SELECT array_agg(last_text) FROM conversation) AS texts`,
  );
  expect(left).toEqual({ recipients: 0, batches: 0, texts: [''] });
  await keep({ messagesDays: null });
});

test('files of received messages are deleted with them', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  await exec(
    pool,
    sql`INSERT INTO media (account_id, media_key, origin, name, mime_type, size_bytes, file_key)
        VALUES (${accountId}, 'in', 'INBOUND', 'a', 'image/png', 1, 'media/1/in'),
          (${accountId}, 'up', 'UPLOAD', 'b', 'image/png', 1, 'media/1/up')`,
  );
  await keep({ inboundDays: 1 });
  const now = (): Date => new Date(Date.now() + 2 * 86_400_000);
  while ((await deleteForAccounts({ pool, log: silentLog, now })) === 0);
  expect(await many(pool, sql`SELECT media_key AS key FROM media`)).toEqual([{ key: 'up' }]);
  expect(await many(pool, sql`SELECT key FROM job WHERE kind = 'file.removal'`)).toEqual([{ key: 'media/1/in' }]);
  await keep({ inboundDays: null });
});

test('two requests that change different fields at the same time both count', async () => {
  const { pool } = inbox.database;
  await keep({ messagesDays: 90, mediaDays: 90 });
  const other = await pool.connect();
  await other.query('BEGIN');
  await other.query('UPDATE account_retention SET media_days = 9');
  const pending = keep({ messagesDays: 7 });
  try {
    await until(
      'the request that waits',
      async () => (await countLockWaits(pool, 'INSERT INTO account_retention')) > 0,
    );
  } finally {
    await other.query('COMMIT');
    other.release();
  }
  expect((await pending).body).toMatchObject({ messagesDays: 7, mediaDays: 9 });
  await keep({ messagesDays: null, mediaDays: null });
});

test('an event that waits is still sent after the content of its message was deleted, and repeats nothing of it', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  await inbox.write('I am ill again', { from: '393331230004' });
  const { id } = await one<{ id: string }>(pool, sql`SELECT id FROM inbound_message WHERE body = 'I am ill again'`);
  const failures = JSON.stringify([{ at: 'x', code: 500, reason: null, ms: 1, answer: 'ill' }]);
  const eventId = newId();
  await exec(
    pool,
    sql`INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts, answer, failures)
        VALUES (${accountId}, ${eventId}, ${id}, 'INBOUND', now(), 'PENDING', 1, 'ill', ${failures}::jsonb)`,
  );
  await call('DELETE', `/messages/${id}/content`);
  expect(await many(pool, sql`SELECT state, answer, failures FROM webhook_delivery WHERE id = ${eventId}`)).toEqual([
    { state: 'PENDING', answer: null, failures: [{ at: 'x', code: 500, reason: null, ms: 1 }] },
  ]);
});

test('the error of a message is deleted from its events that wait and from the feed', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const [id, other] = [await send('It failed'), newId()];
  await exec(pool, sql`UPDATE message_state SET error_text = 'secret' WHERE id = ${id}`);
  const event = sql`'DELIVERY', ${[other, id]}::uuid[], ARRAY[now(), now()], ARRAY['kept', 'secret']`;
  await exec(
    pool,
    sql`INSERT INTO webhook_outbox (account_id, kind, message_ids, at, errors) SELECT ${accountId}, ${event}`,
  );
  await exec(
    pool,
    sql`INSERT INTO webhook_published (account_id, id, kind, message_ids, at, errors) SELECT ${accountId}, ${newId()}, ${event}`,
  );
  expect((await call('DELETE', `/messages/${id}/content`)).status).toBe(204);
  const left = sql`SELECT errors FROM webhook_outbox UNION ALL SELECT errors FROM webhook_published`;
  expect(await many(pool, left)).toEqual([{ errors: ['kept', null] }, { errors: ['kept', null] }]);
});

test.each([{ messagesDays: 0 }, { mediaDays: -1 }, { inboundDays: 99_999 }])('%j is rejected', async (settings) => {
  expect((await keep(settings)).status).toBe(400);
});
