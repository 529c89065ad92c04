import { afterAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { SCOPES } from '../core/actor.ts';
import { loadConfig } from '../core/config.ts';
import { many, sql } from '../core/db/query.ts';
import { type NewAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { securityRoutes } from './security.ts';

const PATH = '/api/partner-gateway/v1/account/security';
const PROXY = '10.0.0.5';

const { database, pool, app, newAccount, ...routes } = await openRoutes([securityRoutes], {
  deps: { config: loadConfig({ TRUST_PROXY: PROXY, HOST: '0.0.0.0' }) },
});
afterAll(() => routes[Symbol.asyncDispose]());

/** A request that a client at `from` sends through the proxy. */
async function call(account: { apiKey: string }, from: string, body?: object) {
  const answer = await app.inject({
    method: body ? 'PUT' : 'GET',
    url: PATH,
    remoteAddress: PROXY,
    headers: { 'x-api-key': account.apiKey, 'x-forwarded-for': from, 'x-forwarded-proto': 'https' },
    ...(body && { payload: body }),
  });
  return { status: answer.statusCode, body: answer.json() };
}

const auditOf = ({ accountId }: NewAccount) =>
  many(
    pool,
    sql`SELECT actor_kind AS kind, action, subject, detail FROM audit_entry
      WHERE account_id = ${accountId} AND action LIKE 'account.%' AND action <> 'account.create' ORDER BY id`,
  );

test('an account starts with an empty list that rejects no address', async () => {
  const answer = await call(await newAccount(), '198.51.100.7');
  expect(answer).toEqual({
    status: 200,
    body: { ipAllowList: [], enforced: false, secondFactor: 'optional', callerAddress: '198.51.100.7' },
  });
});

test('a list is stored in canonical form and applies from the next request on: 403 from elsewhere', async () => {
  const account = await newAccount();
  const ipAllowList = ['198.51.100.7/24', '::ffff:203.0.113.9', ' 2001:DB8::5/64 ', '198.51.100.0/24'];
  const canonical = ['198.51.100.0/24', '203.0.113.9/32', '2001:db8::/64'];
  const changed = await call(account, '198.51.100.7', { ipAllowList, enforced: true });
  expect(changed).toMatchObject({ status: 200, body: { ipAllowList: canonical, enforced: true } });
  for (const from of ['198.51.100.200', '::ffff:198.51.100.1', '203.0.113.9:4711', '[2001:db8::77]:443'])
    expect((await call(account, from)).status, from).toBe(200);
  for (const from of [
    '198.51.101.1',
    '203.0.113.8',
    '2001:db8:0:1::1',
    '::c633:6401',
    'unknown',
    '198.51.100.7, 9.9.9.9',
  ])
    expect((await call(account, from)).status, from).toBe(403);
  expect(await call(account, '9.9.9.9')).toMatchObject({
    body: { status: 403, message: "This address is not on the account's allow-list" },
  });
  // The same again changes nothing.
  await call(account, '198.51.100.7', { ipAllowList, enforced: true });
  expect(await auditOf(account)).toEqual([
    {
      kind: 'key',
      action: 'account.security',
      subject: `account:${account.accountId}`,
      detail: { ipAllowList: canonical, enforced: true },
    },
  ]);
});

test('a wrong key from an address that is not allowed is 401, which reveals nothing about the list', async () => {
  const account = await newAccount();
  await call(account, '198.51.100.7', { ipAllowList: ['198.51.100.7'], enforced: true });
  expect((await call({ apiKey: `pg_live_${'A'.repeat(43)}` }, '9.9.9.9')).status).toBe(401);
});

test('a list that is not enforced rejects no address', async () => {
  const account = await newAccount();
  await call(account, '198.51.100.7', { ipAllowList: ['203.0.113.9'], enforced: false });
  expect((await call(account, '198.51.100.7')).body).toMatchObject({ ipAllowList: ['203.0.113.9/32'] });
});

test('a change that would lock its caller out is 400 and changes nothing, unless it is forced', async () => {
  const account = await newAccount();
  const body = { ipAllowList: ['203.0.113.9'], enforced: true };
  const refused = await call(account, '198.51.100.7', body);
  expect(refused.status).toBe(400);
  expect(refused.body.details).toEqual([{ field: 'ipAllowList', message: expect.stringContaining('198.51.100.7') }]);
  expect((await call(account, '198.51.100.7')).body).toMatchObject({ ipAllowList: [], enforced: false });
  expect((await call(account, '198.51.100.7', { ...body, force: true })).status).toBe(200);
  expect((await call(account, '198.51.100.7')).status).toBe(403);
});

test('every invalid entry is named, and nothing is changed', async () => {
  const account = await newAccount();
  const ipAllowList = ['1.2.3.4/33', '1.2.3.4', 'office', '010.0.0.1'];
  const { status, body } = await call(account, '1.2.3.4', { ipAllowList, enforced: true });
  expect(status).toBe(400);
  expect(body.details.map(({ field }: { field: string }) => field)).toEqual([0, 2, 3].map((i) => `ipAllowList[${i}]`));
  for (const wrong of [
    { ipAllowList: '1.2.3.4', enforced: true },
    { ipAllowList: [] },
    { enforced: 'yes', ipAllowList: [] },
  ])
    expect((await call(account, '1.2.3.4', wrong)).status).toBe(400);
  expect(await auditOf(account)).toEqual([]);
});

test('each account has its own list', async () => {
  const [one, other] = [await newAccount(), await newAccount()];
  await call(one, '198.51.100.7', { ipAllowList: ['198.51.100.7'], enforced: true });
  expect(await call(other, '9.9.9.9')).toMatchObject({ status: 200, body: { ipAllowList: [], enforced: false } });
});

test('a key without the scope keys may neither see nor change it', async () => {
  const operations = SCOPES.filter((scope) => scope !== 'keys');
  const key = { apiKey: await newKey(pool, await newAccount(), operations) };
  expect((await call(key, '1.2.3.4')).status).toBe(403);
  expect((await call(key, '1.2.3.4', { ipAllowList: [], enforced: false })).status).toBe(403);
});

test('the operator can unlock an admin who is locked out, and the audit log records it', async () => {
  const run = commandsOn(database, registerOperations);
  const account = await newAccount();
  const id = String(account.accountId);
  await call(account, '1.2.3.4', { ipAllowList: ['203.0.113.9'], enforced: true, force: true });
  expect((await run('account', 'show', id)).answer).toMatchObject({
    id: account.accountId,
    name: 'Acme',
    allowListEnforced: true,
    ipAllowList: ['203.0.113.9/32'],
  });
  expect((await run('account', 'change', id, '--no-allow-list-enforced')).answer).toMatchObject({
    allowListEnforced: false,
    ipAllowList: [],
  });
  expect((await call(account, '1.2.3.4')).status).toBe(200);
  expect((await auditOf(account)).map(({ kind, action }) => [kind, action])).toEqual([
    ['key', 'account.security'],
    ['operator', 'account.security'],
  ]);
});

test('the operator sets the limit of an account, removes it, and restores that of the plan', async () => {
  const run = commandsOn(database, registerOperations);
  const { accountId } = await newAccount();
  const [perMinute, perSecond] = ['--rate-per-minute', '--rate-per-second'];
  const limit = (...args: string[]) => run('account', 'change', String(accountId), ...args);
  const kept = () =>
    many(pool, sql`SELECT rate_per_minute AS m, rate_per_second AS s FROM account WHERE id = ${accountId}`);
  expect((await limit(perMinute, '5000', perSecond, '100')).answer).toMatchObject({
    ratePerMinute: 5000,
    ratePerSecond: 100,
  });
  expect(await kept()).toEqual([{ m: 5000, s: 100 }]);
  expect((await limit(perMinute, '0', perSecond, 'null')).answer).toMatchObject({ ratePerMinute: 0 });
  expect(await kept()).toEqual([{ m: 0, s: null }]);
  await limit(perMinute, 'null');
  expect(await kept()).toEqual([{ m: null, s: null }]);
  for (const wrong of ['-1', 'x', '1.5']) expect((await limit(perMinute, wrong)).code, wrong).toBe(1);
  expect((await limit(perMinute, '5', perSecond, '0')).code).toBe(1);
});
