import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../test/support/database.ts';
import { apiDeps } from '../test/support/http/api.ts';
import { newKey } from '../test/support/http/routes.ts';
import { createKey } from './accounts/api-keys.ts';
import { operatorAuthor } from './accounts/audit.ts';
import { createAuthenticator } from './accounts/authenticate.ts';
import { insertUser } from './accounts/users.ts';
import { buildApi } from './api.ts';
import { ROLES, type Role, SCOPES, type Scope } from './core/actor.ts';
import { CHANNELS } from './core/channels.ts';
import { accessToRoute } from './core/http/auth.ts';
import { silentLog } from './core/log.ts';
import { isRecord } from './core/schema.ts';
import { createAccount } from './operate/account-commands.ts';

// The real keys of a real account call every route of the program. Permissions are checked before anything of a
// request is read, so a request needs neither a body nor an id that exists.

type Operation = {
  readonly operationId: string;
  readonly description: string;
  readonly 'x-scope'?: readonly string[];
  readonly 'x-roles'?: readonly Role[];
  readonly responses: Readonly<Record<string, unknown>>;
};
type Call = Operation & { readonly method: 'GET'; readonly url: string; readonly needs: readonly string[] };

const database = await createTestDatabase();
const { pool } = database;
const authenticator = createAuthenticator({ pool, log: silentLog });
const app = buildApi(apiDeps({ pool, ...authenticator }));
const routes: Parameters<typeof accessToRoute>[0][] = [];
app.addHook('onRoute', (route) => void (route.schema?.hide === true || routes.push(route)));
const description: { paths: Record<string, Record<string, Operation>>; components: { schemas: object } } = (
  await app.inject('/openapi.json')
).json();
const calls: Call[] = Object.entries(description.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase() as 'GET',
    url: path.replace('{platform}', 'facebook').replace(/\{\w+\}/g, '1'),
    needs: operation['x-scope'] ?? [],
  })),
);
const scopesIn = (need: string): Scope[] => SCOPES.filter((scope) => new RegExp(`\\b${scope}:`).test(need));
const closed = calls.filter(({ needs }) => needs.length > 0);
const scoped = calls.filter(({ needs }) => needs.some((need) => need.includes(':')));

let account: { accountId: number };
beforeAll(async () => {
  account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
});
afterAll(async () => {
  await Promise.all([app.close(), authenticator.close()]);
  await database[Symbol.asyncDispose]();
});

const statusOf = async ({ method, url }: Call, key: string): Promise<number> =>
  (await app.inject({ method, url, headers: { 'x-api-key': key } })).statusCode;

/** Returns the operations for which this key gets 403. */
async function refusedWith(key: string, among: readonly Call[]): Promise<string[]> {
  const refused: string[] = [];
  for (const call of among) if ((await statusOf(call, key)) === 403) refused.push(call.operationId);
  return refused;
}

const idsOf = (some: readonly Call[]): string[] => some.map(({ operationId }) => operationId);

test('every route names who may call it', () => {
  const silent = routes.filter((route) => accessToRoute(route) === undefined);
  expect(silent).toEqual([]);
  expect(calls.filter((call) => call['x-scope'] === undefined || call['x-roles'] === undefined)).toEqual([]);
  expect(scoped.length).toBeGreaterThan(100);
});

test('every operation says in its description who may call it', () => {
  const silent = calls.filter(
    ({ description: text }) =>
      !/(Scope: .* Roles: .*|Needs no credentials|Needs any credentials|For operators)/.test(text),
  );
  expect(idsOf(silent)).toEqual([]);
});

describe.each(SCOPES)('the scope %s', (scope) => {
  const needing = scoped.filter(({ needs }) => needs.some((need) => scopesIn(need).join() === scope));

  test('is needed: a key with all other scopes is refused by each operation that names it', async () => {
    const key = await newKey(
      pool,
      account,
      SCOPES.filter((each) => each !== scope),
    );
    expect(await refusedWith(key, needing)).toEqual(idsOf(needing));
    expect(needing.length).toBeGreaterThan(0);
  });
});

test('an operation that takes one of several scopes refuses a key with none of them', async () => {
  const either = scoped.filter(({ needs }) => needs.some((need) => scopesIn(need).length > 1));
  expect(idsOf(either).sort()).toEqual([
    'cancelMessage',
    'cancelScheduledMessage',
    'changeScheduledMessage',
    'deleteMessageContent',
    'downloadMedia',
    'findByText',
    'getNumberRules',
    'getScheduledMessage',
    'getSendingRules',
    'listScheduledMessages',
    'previewMessage',
  ]);
  for (const call of either) {
    const unwanted = call.needs.flatMap(scopesIn);
    const key = await newKey(
      pool,
      account,
      SCOPES.filter((each) => !unwanted.includes(each)),
    );
    expect(await statusOf(call, key)).toBe(403);
  }
});

test('a key of one channel sends and previews on it, and reads nothing of money, profiles or people', async () => {
  const sms = await newKey(pool, account, ['SMS']);
  const refused = await refusedWith(sms, closed);
  const allowed = closed.filter(({ operationId }) => !refused.includes(operationId));
  expect(idsOf(allowed.filter(({ needs }) => !needs.includes('credentials'))).sort()).toEqual([
    'cancelMessage',
    'cancelScheduledMessage',
    'changeScheduledMessage',
    'deleteMessageContent',
    'getNumberRules',
    'getScheduledMessage',
    'getSendingRules',
    'listScheduledMessages',
    'previewMessage',
    'reportMessage',
    'sendBulkSms',
    'sendSms',
  ]);
  expect(idsOf(allowed.filter(({ method }) => method === 'GET'))).toEqual([
    'listScheduledMessages',
    'getScheduledMessage',
    'getNumberRules',
    'getSendingRules',
  ]);
  for (const channel of CHANNELS) {
    const key = await newKey(pool, account, [channel]);
    const foreign = scoped.filter(({ needs }) => needs.some((need) => !scopesIn(need).includes(channel)));
    expect(await refusedWith(key, foreign)).toEqual(idsOf(foreign));
  }
});

test('operations of operators refuse every key', async () => {
  const ofOperators = calls.filter(({ needs }) => needs.includes('operator'));
  const key = await newKey(pool, account, [...SCOPES]);
  expect(await refusedWith(key, ofOperators)).toEqual(idsOf(ofOperators));
  expect(ofOperators.length).toBeGreaterThan(40);
});

describe.each(ROLES)('the role %s', (role) => {
  /** Returns a key with all scopes whose user has this role now. */
  async function keyOfRole(): Promise<string> {
    const user = { accountId: account.accountId, username: `a.${role}`, passwordHash: 'none', role };
    const made = await insertUser(pool, user);
    const author = { ...operatorAuthor(account.accountId), userId: made?.id ?? null, operations: new Set(SCOPES) };
    return (await createKey(pool, author, {})).apiKey;
  }

  // The stream never responds to a request that cannot follow it.
  const asked = scoped.filter(({ operationId }) => operationId !== 'streamInbox');

  test('may call exactly the operations that name it: keys of its users are refused by all others', async () => {
    const key = await keyOfRole();
    const others = asked.filter((call) => !call['x-roles']?.includes(role));
    expect(await refusedWith(key, asked)).toEqual(idsOf(others));
  });
});

test('every amount in a response is described as null without the scope money, unless the operation needs it', () => {
  const AMOUNT = /^(unit)?price$|cost$|^credit$|^amount$|balance$|(available|frozen)credit$/i;
  const open: string[] = [];
  const visit = (schema: unknown, path: string): void => {
    if (!isRecord(schema)) return;
    const { properties, items, anyOf, oneOf } = schema;
    for (const [name, property] of Object.entries(isRecord(properties) ? properties : {})) {
      const isGuarded = AMOUNT.test(name) && JSON.stringify(property).includes('without the scope `money`');
      if (AMOUNT.test(name) && !isGuarded) open.push(`${path}.${name}`);
      // A property that is guarded as a whole is absent with everything in it.
      if (!isGuarded) visit(property, `${path}.${name}`);
    }
    for (const part of [items, ...[anyOf, oneOf].flat()]) visit(part, path);
  };
  for (const call of scoped.filter(({ needs }) => !needs.includes('money:read')))
    for (const [status, answer] of Object.entries(call.responses))
      if (status.startsWith('2') && isRecord(answer)) visit(jsonSchemaOf(answer), call.operationId);
  expect(open).toEqual([]);
});

function jsonSchemaOf({ content }: Record<string, unknown>): unknown {
  const json = isRecord(content) ? content['application/json'] : undefined;
  return isRecord(json) ? json['schema'] : undefined;
}
