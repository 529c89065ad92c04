import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from '../accounts/authenticate.ts';
import { createAccount, type NewAccount } from '../accounts/create.ts';
import { exec, sql } from '../db/query.ts';
import { authentication } from '../http/auth.ts';
import type { App } from '../http/deps.ts';
import { createServer } from '../http/server.ts';
import type { Channel } from '../lib/channel.ts';
import { silentLog } from '../lib/log.ts';
import { insertMessages } from '../messages/sql.ts';
import { apiDeps } from '../testing/api.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { newMessage } from '../testing/queue.ts';
import { trackingRoutes } from './routes.ts';

let database: TestDatabase;
let app: App;
let account: NewAccount;
let stranger: NewAccount;
beforeAll(async () => {
  database = await createTestDatabase();
  const { pool } = database;
  const { authenticate } = createAuthenticator({ pool, log: silentLog });
  const deps = apiDeps({ pool, authenticate });
  app = createServer(deps);
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate });
    trackingRoutes(closed, deps);
  });
  account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  stranger = await createAccount(pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
});
afterAll(async () => {
  await app.close();
  await database[Symbol.asyncDispose]();
});

async function stored(channel: Channel): Promise<string> {
  const message = newMessage({ accountId: account.accountId, channel });
  await insertMessages(database.pool, [message]);
  return message.id;
}

async function get(path: string, key = account.apiKey): Promise<{ status: number; body: unknown }> {
  const url = `/api/partner-gateway/v1/${path}`;
  const answer = await app.inject({ method: 'GET', url, headers: { 'x-api-key': key } });
  return { status: answer.statusCode, body: answer.json() };
}

test.each([
  ['whatsapp', 'WHATSAPP'],
  ['rcs', 'RCS'],
] as const)('%s messages have a status of their network, which only their account sees', async (path, channel) => {
  const id = await stored(channel);
  expect(await get(`${path}/messages/${id}`)).toMatchObject({ status: 200, body: { messageId: id, status: 'SENT' } });
  await exec(
    database.pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, read_at)
        VALUES (${account.accountId}, ${id}, 3, 1, now(), '2026-11-21T10:00:00Z')`,
  );
  expect((await get(`${path}/messages/${id.toUpperCase()}`)).body).toEqual({
    ...{ messageId: id, status: 'READ', timestamp: '2026-11-21T10:00:00.000Z', error: null },
  });
  expect((await get(`${path}/messages/${id}`, stranger.apiKey)).status).toBe(404);
});

test('the id of a message on another channel is unknown', async () => {
  const [sms, rcs] = [await stored('SMS'), await stored('RCS')];
  for (const path of [`whatsapp/messages/${sms}`, `rcs/messages/${sms}`, `whatsapp/messages/${rcs}`])
    expect((await get(path)).status).toBe(404);
  for (const id of ['nonsense', '018f0000-0000-7000-8000-000000000000'])
    expect((await get(`rcs/messages/${id}`)).status).toBe(404);
});
