import { createHook } from 'node:async_hooks';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { SCOPES } from '../core/actor.ts';
import { CHANNELS } from '../core/channels.ts';
import { createPool } from '../core/db/pool.ts';
import { type Db, exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { moveAccountStatus, updateAccountRate } from './accounts.ts';
import { createKey, deleteKey, listKeys, rotateKey } from './api-keys.ts';
import { operatorAuthor } from './audit.ts';
import { createAuthenticator } from './authenticate.ts';
import { hashPassword } from './password.ts';
import { updatePassword } from './users.ts';

const database = testDatabase();
const { pool } = database;

let otherPool: Pool;
let account: NewAccount;

beforeAll(async () => {
  otherPool = createPool(database.connectionString, { max: 2, applicationName: 'test', log: silentLog });
  account = await createAccount(pool, { name: 'Sunrise Logistics', plan: 'production' });
});
afterAll(async () => {
  await otherPool.end();
});

const HERE = '198.51.100.7';
type Headers = Readonly<Record<string, string>>;

function authenticator(db: Db = pool) {
  const { authenticate, ...rest } = createAuthenticator({ pool: db, log: silentLog });
  const admit = (headers: Headers, ip = HERE) => authenticate({ headers, ip, protocol: 'https' });
  return { ...rest, admit, authenticate: async (headers: Headers, ip?: string) => (await admit(headers, ip)).actor };
}
const withKey = (value: string) => ({ 'x-api-key': value });
const withPassword = (username: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});
const grantor = () => ({ ...operatorAuthor(account.accountId), operations: new Set(SCOPES) });
const newKey = (input: Parameters<typeof createKey>[2] = {}) =>
  transaction(pool, (tx) => createKey(tx, grantor(), input));
const UNAUTHENTICATED = { code: 'unauthenticated', message: 'Missing or invalid credentials' };

test('a key gives its account, its user and its scopes', async () => {
  expect(await authenticator().authenticate(withKey(account.apiKey))).toEqual({
    kind: 'key',
    accountId: account.accountId,
    keyId: expect.any(Number),
    userId: expect.any(Number),
    username: 'sunrise-logistics',
    role: 'admin',
    operations: new Set(SCOPES),
    plan: 'production',
    channels: new Set(CHANNELS),
    hasOptOuts: false,
    numberRules: { defaultCountry: null, numberChecks: 'strict' },
    sendingRules: { purpose: null, respectsCalendar: false, weeklyCap: null },
  });
});

test('a key that the operator made belongs to no user and has only the scopes it was made with', async () => {
  const { id, apiKey } = await newKey({ operations: ['tracking', 'SMS'] });
  expect(await authenticator().authenticate(withKey(apiKey))).toMatchObject({
    keyId: id,
    userId: null,
    username: null,
    operations: new Set(['SMS', 'tracking']),
  });
});

test('a user of the account is accepted with Basic, with the scopes of the role', async () => {
  const headers = withPassword(account.username, account.password);
  expect(await authenticator().authenticate(headers)).toEqual({
    kind: 'user',
    accountId: account.accountId,
    keyId: null,
    userId: expect.any(Number),
    username: 'sunrise-logistics',
    role: 'admin',
    operations: new Set(SCOPES),
    plan: 'production',
    channels: new Set(CHANNELS),
    hasOptOuts: false,
    numberRules: { defaultCountry: null, numberChecks: 'strict' },
    sendingRules: { purpose: null, respectsCalendar: false, weeklyCap: null },
    isOperator: false,
  });
});

test('missing, malformed, unknown and wrong credentials all get the same response', async () => {
  const { authenticate } = authenticator();
  const wrong = [
    {},
    withKey('nonsense'),
    withKey(`pg_live_${'A'.repeat(43)}`),
    withPassword(account.username, 'wrong'),
    withPassword('nobody', account.password),
    { authorization: 'Bearer x' },
    { ...withKey('nonsense'), ...withPassword(account.username, account.password) },
  ];
  for (const headers of wrong) await expect(authenticate(headers)).rejects.toMatchObject(UNAUTHENTICATED);
});

test('a revoked key is rejected at the next request, on another process too', async () => {
  const [here, there] = [authenticator(), authenticator(otherPool)];
  const { id, apiKey } = await newKey();
  await Promise.all([here.authenticate(withKey(apiKey)), there.authenticate(withKey(apiKey))]);
  await deleteKey(pool, { accountId: account.accountId, id });
  await expect(there.authenticate(withKey(apiKey))).rejects.toMatchObject(UNAUTHENTICATED);
  await expect(here.authenticate(withKey(apiKey))).rejects.toMatchObject(UNAUTHENTICATED);
});

test('after a change the old password is rejected at the next request, on another process too', async () => {
  const { accountId, username, password } = await createAccount(pool, { name: 'Password', plan: 'trial' });
  const [here, there] = [authenticator(), authenticator(otherPool)];
  const headers = withPassword(username, password);
  const [{ userId }] = await Promise.all([here.authenticate(headers), there.authenticate(headers)]);
  await updatePassword(pool, {
    accountId,
    userId: userId ?? 0,
    passwordHash: await hashPassword('new', { by: 'test' }),
  });
  await expect(here.authenticate(headers)).rejects.toMatchObject(UNAUTHENTICATED);
  await expect(there.authenticate(headers)).rejects.toMatchObject(UNAUTHENTICATED);
  expect(await here.authenticate(withPassword(username, 'new'))).toMatchObject({ userId, plan: 'trial' });
});

test('an expired key is rejected', async () => {
  const { id, apiKey } = await newKey({ expiresAt: new Date(Date.now() + 60_000) });
  await authenticator().authenticate(withKey(apiKey));
  await exec(pool, sql`UPDATE api_key SET expires_at = now() WHERE id = ${id}`);
  await expect(authenticator().authenticate(withKey(apiKey))).rejects.toMatchObject(UNAUTHENTICATED);
});

test('after a rotation the old value works during its grace period, and deleting the key ends both', async () => {
  const { authenticate } = authenticator();
  const { id, apiKey: old } = await newKey();
  const { apiKey: fresh } = await transaction(pool, (tx) => rotateKey(tx, grantor(), { id, graceSeconds: 60 }));
  expect(await authenticate(withKey(old))).toEqual(await authenticate(withKey(fresh)));
  const { apiKey: last } = await transaction(pool, (tx) => rotateKey(tx, grantor(), { id, graceSeconds: 0 }));
  await authenticate(withKey(old));
  await expect(authenticate(withKey(fresh))).rejects.toMatchObject(UNAUTHENTICATED);
  await deleteKey(pool, { accountId: account.accountId, id });
  for (const value of [old, last]) await expect(authenticate(withKey(value))).rejects.toMatchObject(UNAUTHENTICATED);
});

test('a suspended account is reported, only to right credentials, until it is resumed', async () => {
  const { accountId, apiKey, username, password } = await createAccount(pool, { name: 'Late payer', plan: 'trial' });
  const { authenticate } = authenticator();
  await moveAccountStatus(pool, { accountId, from: 'active', to: 'suspended' });
  const suspended = { code: 'forbidden', message: 'The account is suspended' };
  await expect(authenticate(withKey(apiKey))).rejects.toMatchObject(suspended);
  await expect(authenticate(withPassword(username, password))).rejects.toMatchObject(suspended);
  await expect(authenticate(withPassword(username, 'wrong'))).rejects.toMatchObject(UNAUTHENTICATED);
  await moveAccountStatus(pool, { accountId, from: 'suspended', to: 'active' });
  expect(await authenticate(withKey(apiKey))).toMatchObject({ accountId });
});

/** Counts the password hashes that are computed during `work`: each is a request to the runtime's pool of threads. */
async function countHashes(work: () => Promise<unknown>): Promise<number> {
  let hashes = 0;
  const hook = createHook({ init: (_, type) => void (hashes += type === 'ARGON2REQUEST' ? 1 : 0) });
  hook.enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return hashes;
}

test('an unknown user costs one hash, as a wrong password does, and so takes as long', async () => {
  const { authenticate } = authenticator();
  const names = { known: account.username, unknown: 'nobody', impossible: 'no\0body', endless: 'n'.repeat(201) };
  for (const [what, name] of Object.entries(names)) {
    const refused = () => expect(authenticate(withPassword(name, 'wrong'))).rejects.toMatchObject(UNAUTHENTICATED);
    expect(await countHashes(refused), what).toBe(1);
  }
});

test('a name that the database cannot store does not affect concurrent requests', async () => {
  const { authenticate } = authenticator();
  const poisoned = authenticate(withPassword('\0', 'x'));
  const honest = authenticate(withPassword(account.username, account.password));
  await expect(poisoned).rejects.toMatchObject(UNAUTHENTICATED);
  expect(await honest).toMatchObject({ accountId: account.accountId });
});

test('concurrent callers are looked up in one query, and each gets their own response', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => newKey()));
  let queries = 0;
  const counting: Db = {
    query: (query) => {
      queries++;
      return pool.query(query);
    },
  };
  const { authenticate } = authenticator(counting);
  const values = [...keys, ...keys].map(({ apiKey }) => withKey(apiKey));
  const answers = await Promise.allSettled(
    [...values, withKey(`pg_live_${'B'.repeat(43)}`)].map((headers) => authenticate(headers)),
  );
  expect(queries).toBe(1);
  expect(answers.pop()).toMatchObject({ status: 'rejected', reason: UNAUTHENTICATED });
  const ids = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.keyId : null));
  expect(ids).toEqual([...keys, ...keys].map(({ id }) => id));
});

test('an unavailable database fails the requests of that moment and no later ones', async () => {
  let away = true;
  const failing: Db = { query: (query) => (away ? Promise.reject(new Error('away')) : pool.query(query)) };
  const { authenticate } = authenticator(failing);
  await expect(authenticate(withKey(account.apiKey))).rejects.toThrow('away');
  away = false;
  expect(await authenticate(withKey(account.apiKey))).toMatchObject({ accountId: account.accountId });
});

test('lastUsedAt is written when the authenticator is closed', async () => {
  const { accountId, apiKey } = await createAccount(pool, { name: 'Used', plan: 'production' });
  const { authenticate, close } = authenticator();
  const list = () => listKeys(pool, { accountId, userId: null, page: 0, limit: 10 });
  expect(await list()).toMatchObject([{ lastUsedAt: null }]);
  await authenticate(withKey(apiKey));
  await close();
  const [key] = await list();
  expect(Date.now() - (key?.lastUsedAt?.getTime() ?? 0)).toBeLessThan(10_000);
});

/** Returns the outcomes of `count` concurrent requests: 200, or the status of the error. */
const statuses = async (count: number, request: () => Promise<unknown>): Promise<number[]> => {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, request));
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 200 : outcome.reason.status));
};
const countOf = (status: number, all: readonly number[]): number => all.filter((each) => each === status).length;

test.each([
  ['production', '1000', 50],
  ['trial', '100', 10],
] as const)('a key of the plan %s has %s requests a minute, %d of them in a second', async (plan, limit, burst) => {
  const { apiKey } = await createAccount(pool, { name: 'Limited', plan });
  const { admit } = authenticator();
  const { headers } = await admit(withKey(apiKey));
  expect(headers).toMatchObject({ 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': String(Number(limit) - 1) });
  const all = await statuses(3 * burst, () => admit(withKey(apiKey)));
  expect(countOf(200, all) + countOf(429, all)).toBe(3 * burst);
  // Two seconds at the most have seen them.
  expect(countOf(429, all)).toBeGreaterThanOrEqual(burst);
});

test('a rejected request says how long to wait, with the same headers', async () => {
  const { accountId, apiKey } = await createAccount(pool, { name: 'Slow', plan: 'production' });
  await updateAccountRate(pool, { accountId, perMinute: 2, perSecond: 2 });
  const { admit } = authenticator();
  await admit(withKey(apiKey));
  await admit(withKey(apiKey));
  const refusal = await admit(withKey(apiKey)).catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    code: 'rate_limited',
    headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' },
  });
  const seconds = Reflect.get(Object(refusal), 'retryAfterSeconds');
  expect(seconds).toBeGreaterThan(50);
  expect(seconds).toBeLessThanOrEqual(60);
});

test("the operator's limit applies from the next request on, to each key separately", async () => {
  const { accountId, apiKey } = await createAccount(pool, { name: 'Set', plan: 'trial' });
  const { admit } = authenticator();
  const ask = async () => (await admit(withKey(apiKey))).headers['x-ratelimit-limit'];
  expect(await ask()).toBe('100');
  await updateAccountRate(pool, { accountId, perMinute: 7000, perSecond: null });
  expect(await ask()).toBe('7000');
  await updateAccountRate(pool, { accountId, perMinute: 0, perSecond: null });
  expect(await ask()).toBe('2147483647');
  expect(countOf(200, await statuses(200, ask))).toBe(200);
  await updateAccountRate(pool, { accountId, perMinute: 3, perSecond: 9 });
  expect(await statuses(2, ask)).toContain(429);
  const other = await transaction(pool, (tx) => createKey(tx, { ...grantor(), accountId }, {}));
  expect((await admit(withKey(other.apiKey))).headers).toMatchObject({ 'x-ratelimit-remaining': '2' });
});

test('a hundred keys and the password of a trial account make no more requests than two keys, and do not disturb others', async () => {
  const { accountId, apiKey, username, password } = await createAccount(pool, {
    name: 'Many keys',
    plan: 'production',
  });
  const keys = [apiKey];
  while (keys.length < 100)
    keys.push((await transaction(pool, (tx) => createKey(tx, { ...grantor(), accountId }, {}))).apiKey);
  await exec(pool, sql`UPDATE account SET plan = 'trial' WHERE id = ${accountId}`);
  const other = await createAccount(pool, { name: 'Beside it', plan: 'trial' });
  const { admit, checkPassword } = authenticator();
  const began = performance.now();
  const all: number[] = [];
  for (let round = 0; round < 5; round++)
    all.push(...(await Promise.all(keys.map((key) => statuses(1, () => admit(withKey(key)))))).flat());
  const seconds = Math.floor((performance.now() - began) / 1000) + 2;
  expect(countOf(200, all) + countOf(429, all)).toBe(500);
  expect(countOf(200, all)).toBeLessThanOrEqual(Math.min(200, 20 * seconds));
  expect(countOf(200, all)).toBeGreaterThanOrEqual(20);
  await exec(pool, sql`UPDATE account SET rate_per_minute = 1, rate_per_second = 1 WHERE id = ${accountId}`);
  await expect(admit(withPassword(username, password))).rejects.toMatchObject({
    code: 'rate_limited',
    message: 'All credentials of this account together have made too many requests',
    headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' },
  });
  // Signing in to the console is a matter of the user alone.
  expect(await checkPassword({ username, password }, HERE)).toMatchObject({ actor: { accountId } });
  expect((await admit(withKey(other.apiKey))).headers).toMatchObject({ 'x-ratelimit-remaining': '99' });
});

test('an unlimited plan has no limit and says so', async () => {
  const { apiKey } = await createAccount(pool, { name: 'Free', plan: 'unlimited' });
  const { admit } = authenticator();
  expect((await admit(withKey(apiKey))).headers).toEqual({
    'x-ratelimit-limit': '2147483647',
    'x-ratelimit-remaining': '2147483647',
    'x-ratelimit-reset': '0',
  });
});

const wrongs = Array.from({ length: 40 }, (_, i) => `wrong ${i}`);

test('guessing clients are rejected without a hash, and the owner gets in from a known network', async () => {
  const { username, password } = await createAccount(pool, { name: 'Guessed', plan: 'unlimited' });
  const { authenticate } = authenticator();
  const owner = withPassword(username, password);
  await authenticate(owner);
  const guesses = wrongs.map((wrong, i) => authenticate(withPassword(username, wrong), `192.0.2.${i}`));
  const outcomes = await Promise.allSettled(guesses);
  const all = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.status : 200));
  expect(countOf(401, all) + countOf(429, all)).toBe(wrongs.length);
  expect(countOf(401, all)).toBeLessThanOrEqual(20);
  expect(await authenticate(owner)).toMatchObject({ username });
  expect(await authenticator().authenticate(owner), 'on a process that has never seen it').toMatchObject({ username });
});

test('while guessing clients have used up their attempts, their right guess is rejected like a wrong one', async () => {
  const { username, password } = await createAccount(pool, { name: 'Oracle', plan: 'unlimited' });
  const { authenticate } = authenticator();
  await authenticate(withPassword(username, password));
  const spend = async () =>
    countOf(429, await statuses(1, () => authenticate(withPassword(username, 'wrong'), '192.0.2.9')));
  while ((await spend()) === 0);
  await expect(authenticate(withPassword(username, password), '192.0.2.10')).rejects.toMatchObject({
    code: 'rate_limited',
    message: 'Too many failed attempts to authenticate',
  });
});

test('an unknown user is limited like a known one', async () => {
  const { authenticate } = authenticator();
  const outcomes = await statuses(40, () => authenticate(withPassword('nobody', `${Math.random()}`), '192.0.2.9'));
  expect(outcomes).toContain(429);
});

test('wrong keys from one address turn from 401 to 429, and a right key from there is still accepted', async () => {
  const { authenticate } = authenticator();
  const guess = () => authenticate(withKey(`pg_live_${'A'.repeat(43)}`), '192.0.2.44');
  const all = await statuses(200, guess);
  expect([countOf(401, all) > 0, countOf(429, all) > 0, countOf(200, all)]).toEqual([true, true, 0]);
  expect(await authenticate(withKey(account.apiKey), '192.0.2.44')).toMatchObject({ accountId: account.accountId });
});

test('many concurrent right requests from a new address are all accepted', async () => {
  const { username, password } = await createAccount(pool, { name: 'Eager', plan: 'unlimited' });
  const { authenticate } = authenticator();
  const all = await statuses(64, () => authenticate(withPassword(username, password), '192.0.2.70'));
  expect(countOf(200, all)).toBe(64);
});
