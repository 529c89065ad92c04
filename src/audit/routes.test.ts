import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from '../accounts/authenticate.ts';
import { createAccount, type NewAccount } from '../accounts/create.ts';
import { transaction } from '../db/transaction.ts';
import { authentication } from '../http/auth.ts';
import type { App } from '../http/deps.ts';
import { createServer } from '../http/server.ts';
import { createKey } from '../api-keys/create.ts';
import { silentLog } from '../lib/log.ts';
import { SCOPES } from '../lib/scope.ts';
import { apiDeps } from '../testing/api.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { operatorOf, recordAudit } from './record.ts';
import { auditRoutes } from './routes.ts';

let database: TestDatabase;
let app: App;
let account: NewAccount;
let stranger: NewAccount;

beforeAll(async () => {
  database = await createTestDatabase();
  const { authenticate } = createAuthenticator({ pool: database.pool, log: silentLog });
  const deps = apiDeps({ pool: database.pool, authenticate });
  app = createServer(deps);
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate });
    auditRoutes(closed, deps);
  });
  account = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  stranger = await createAccount(database.pool, { name: 'Stranger', plan: 'unlimited', ratePerMinute: 0 });
});
afterAll(async () => {
  await app.close();
  await database[Symbol.asyncDispose]();
});

async function list(query = '', key = account.apiKey) {
  const url = `/api/partner-gateway/v1/audit${query}`;
  const answer = await app.inject({ url, headers: { 'x-api-key': key } });
  return { status: answer.statusCode, body: answer.json() };
}
const record = (action: string, subject: string, detail?: Record<string, unknown>) =>
  transaction(database.pool, (tx) =>
    recordAudit(tx, operatorOf(account.accountId), { action, subject, ...(detail && { detail }) }),
  );
const actionsOf = ({ data }: { data: { action: string }[] }) => data.map(({ action }) => action);

test('entries are listed newest first, with who did what to what, those of the operator too', async () => {
  await record('thing.change', 'thing:1', { from: 'a', to: ['b'] });
  const { body } = await list();
  expect(actionsOf(body)).toEqual(['thing.change', 'api-key.create', 'account.create']);
  expect(body).toMatchObject({ page: 0, limit: 10, total: 3 });
  expect(body.data[0]).toEqual({
    id: expect.any(String),
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    actor: { kind: 'operator', keyId: null, userId: null, username: expect.any(String) },
    action: 'thing.change',
    subject: 'thing:1',
    detail: { from: 'a', to: ['b'] },
  });
});

test('action, subject and time narrow the list and its total', async () => {
  await record('filter.one', 'thing:2');
  const since = new Date(Date.now() + 1).toISOString();
  while (Date.now() <= Date.parse(since));
  await record('filter.two', 'thing:2');
  await record('filter.two', 'thing:3');
  const found = async (query: string) => actionsOf((await list(query)).body);
  expect(await found('?action=filter.two')).toEqual(['filter.two', 'filter.two']);
  expect(await found('?subject=thing:2')).toEqual(['filter.two', 'filter.one']);
  expect(await found('?subject=thing:2&action=filter.one')).toEqual(['filter.one']);
  expect(await found(`?from=${since}`)).toEqual(['filter.two', 'filter.two']);
  expect(await found(`?subject=thing:2&to=${since}`)).toEqual(['filter.one']);
  expect((await list('?action=filter.two&limit=1&page=1')).body).toMatchObject({ page: 1, limit: 1, total: 2 });
  expect((await list('?from=yesterday')).status).toBe(400);
});

test('what one person did, and keys that they made, is told apart from the rest', async () => {
  const { accountId } = account;
  const author = { accountId, keyId: null, userId: 4711, username: 'anna' };
  await transaction(database.pool, async (tx) => {
    await recordAudit(tx, { ...author, kind: 'user' }, { action: 'by.person', subject: 'thing:4' });
    await recordAudit(tx, { ...author, kind: 'key', keyId: 12 }, { action: 'by.key', subject: 'thing:4' });
    await recordAudit(tx, operatorOf(accountId), { action: 'by.other', subject: 'thing:4' });
  });
  const { body } = await list('?userId=4711');
  expect([actionsOf(body), body.total]).toEqual([['by.key', 'by.person'], 2]);
  expect(actionsOf((await list('?userId=4711&action=by.key')).body)).toEqual(['by.key']);
  expect((await list('?userId=0')).status).toBe(400);
});

test('an account sees its own entries only, and a caller without the scope keys sees none', async () => {
  expect(actionsOf((await list('', stranger.apiKey)).body)).toEqual(['api-key.create', 'account.create']);
  const operator = { ...operatorOf(account.accountId), operations: new Set(SCOPES) };
  const operations = SCOPES.filter((scope) => scope !== 'keys');
  const { apiKey } = await transaction(database.pool, (tx) => createKey(tx, operator, { operations }));
  expect((await list('', apiKey)).status).toBe(403);
});

test('an entry is rolled back with the change that it tells of', async () => {
  const failed = transaction(database.pool, async (tx) => {
    await recordAudit(tx, operatorOf(account.accountId), { action: 'rolled.back', subject: 'thing:9' });
    throw new Error('the change fails');
  });
  await expect(failed).rejects.toThrow('the change fails');
  expect((await list('?action=rolled.back')).body.total).toBe(0);
});
