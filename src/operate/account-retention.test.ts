import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { actor, draft } from '../../test/support/drafts.ts';
import type { App } from '../core/http/app.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { matchReceipts } from '../messages/receipt-store.ts';
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
  while ((await deleteForAccounts({ pool, now: () => new Date(Date.now() + 1000) })) === 0);
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
  while ((await deleteForAccounts({ pool, now })) === 0);
  expect([await textOf(done), await textOf(waiting)]).toEqual([undefined, 'Old and waiting']);
  expect(await many(pool, sql`SELECT id FROM inbound_message`)).toEqual([]);
  expect(await many(pool, sql`SELECT chat_id FROM conversation`)).toEqual([]);
});

test.each([{ messagesDays: 0 }, { mediaDays: -1 }, { inboundDays: 99_999 }])('%j is rejected', async (settings) => {
  expect((await keep(settings)).status).toBe(400);
});
