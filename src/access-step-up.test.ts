import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../test/support/database.ts';
import { apiDeps } from '../test/support/http/api.ts';
import { PG } from '../test/support/http/routes.ts';
import { OWN_PAGES } from '../test/support/http/session-stage.ts';
import { createAuthenticator } from './accounts/authenticate.ts';
import { buildApi } from './api.ts';
import { exec, sql } from './core/db/query.ts';
import { silentLog } from './core/log.ts';
import { createAccount } from './operate/account-commands.ts';

// A real session calls every route of the program, eleven minutes after its sign-in.

type Operation = {
  readonly operationId: string;
  readonly description?: string;
  readonly security?: readonly object[];
  readonly 'x-step-up'?: boolean;
  readonly 'x-step-up-for'?: string;
};
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
type Call = Operation & { readonly method: Method; readonly path: string; readonly url: string };

const database = await createTestDatabase();
const { pool } = database;
const authenticator = createAuthenticator({ pool, log: silentLog });
const app = buildApi(apiDeps({ pool, ...authenticator }));
const described: { paths: Record<string, Record<string, Operation>> } = (await app.inject('/openapi.json')).json();
const calls: Call[] = Object.entries(described.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => {
    const url = path.replace('{platform}', 'facebook').replace(/\{\w+\}/g, '999999');
    return { ...operation, method: method.toUpperCase() as Method, path, url };
  }),
);

const elevenMinutesPass = (): Promise<number> =>
  exec(pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);

/** Signs an admin of a new account in, and returns a function that sends a request of that session. */
async function signIn() {
  const { username, password } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' });
  const credentials = { method: 'POST', url: `${PG}/session`, payload: { username, password } } as const;
  const { headers } = await app.inject({ ...credentials, headers: OWN_PAGES });
  const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
  return async (method: Method, url: string, payload?: object) => {
    const answer = await app.inject({ method, url, headers: { ...OWN_PAGES, cookie }, ...(payload && { payload }) });
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, body: isJson ? answer.json() : {} };
  };
}

afterAll(async () => {
  await Promise.all([app.close(), authenticator.close()]);
  await database[Symbol.asyncDispose]();
});

test('ten minutes after a sign-in, exactly the operations that are marked ask for a step-up', async () => {
  // They end the session or do not respond at all.
  const left = new Set(['signOut', 'streamInbox']);
  const asked = calls.filter(({ security, operationId }) => security?.length !== 0 && !left.has(operationId));
  const refused: string[] = [];
  // A session may send 60 requests a second.
  for (let from = 0; from < asked.length; from += 50) {
    const ask = await signIn();
    await elevenMinutesPass();
    for (const { method, url, operationId } of asked.slice(from, from + 50)) {
      const { status, body } = await ask(method, url);
      expect([operationId, status]).not.toEqual([operationId, 401]);
      expect([operationId, status]).not.toEqual([operationId, 429]);
      if (body.code === 'step_up_required') refused.push(operationId);
    }
  }
  const marked = asked.filter((call) => call['x-step-up'] === true && call['x-step-up-for'] === undefined);
  expect(refused).toEqual(marked.map(({ operationId }) => operationId));
  expect(marked.length).toBeGreaterThan(20);
});

test('every change by operators, of keys, users, security, webhooks, forwarding and verify services is marked, with known exceptions', () => {
  const AREAS =
    /^\/api\/(operator|webhooks|partner-gateway\/v1\/(authentication|smpp|users|invitations|account|webhooks|keyword-rules|inbox\/settings|verify\/services|verify\/guard\/ranges\/\{prefix\}\/release))(\/|$)/;
  const changes = calls.filter(
    ({ method, path, security }) => method !== 'GET' && AREAS.test(path) && security?.length !== 0,
  );
  const unmarked = changes.filter((call) => call['x-step-up'] !== true || call['x-step-up-for'] !== undefined);
  expect(unmarked.map(({ operationId }) => operationId).sort()).toEqual([
    // The name that colleagues see gives no rights.
    'changeOwnName',
    // It asks for the password itself.
    'changeOwnPassword',
    // Changes no alert or connection.
    'operatorAcknowledgeAlert',
    'operatorSyncTemplates',
    'operatorTestAlertTarget',
    'operatorTestConnection',
    // Sends to existing destinations of events.
    'replayEndpointDeliveries',
    'replayEndpointDelivery',
    'replayWebhookDeliveries',
    'replayWebhookDelivery',
    // Revokes access only.
    'revokeInvitation',
    'testEndpoint',
    'testWebhook',
    'trySingleSignOn',
  ]);
  expect(changes.length).toBeGreaterThan(70);
});

test('the description of each of them says so to people, and so does the table of operations', async () => {
  const page = await readFile(new URL('../docs/operations.md', import.meta.url), 'utf8');
  const cells = page.split('\n').map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
  for (const { method, path, description = '', ...call } of calls) {
    const isMarked = call['x-step-up'] === true;
    const requests = call['x-step-up-for'];
    const sentence = `Sessions need a step-up${requests === undefined ? '' : ` for ${requests}`}.`;
    expect([path, description.includes(sentence)]).toEqual([path, isMarked]);
    const row = cells.find((each) => each[0] === method && each[1] === `\`${path}\``);
    expect([method, path, row?.at(6)]).toEqual([method, path, isMarked ? (requests ?? 'yes') : '']);
  }
});

test('an export of all contacts needs a step-up, also when it is repeated, and one of some contacts needs none', async () => {
  const ask = await signIn();
  await elevenMinutesPass();
  const contacts = `${PG}/exports/contacts`;
  const all = async () => (await ask('POST', contacts, {})).body;
  expect(await all()).toMatchObject({ status: 403, code: 'step_up_required' });
  const { body: list } = await ask('POST', `${PG}/contacts/list`, { name: 'Some' });
  const some = await ask('POST', contacts, { listIds: [list.id] });
  expect(some.status).toBe(202);

  await exec(pool, sql`UPDATE user_session SET proven_at = now()`);
  const { exportId } = await all();
  await exec(pool, sql`DELETE FROM job`);
  await exec(pool, sql`UPDATE export SET status = 'FAILED'`);
  await elevenMinutesPass();
  const repeat = async (id: string) => (await ask('POST', `${PG}/exports/${id}`)).status;
  expect([await repeat(exportId), await repeat(some.body.exportId)]).toEqual([403, 202]);
});

test('an export of the opt-outs, or of a person, that is repeated needs a step-up', async () => {
  const ask = await signIn();
  const requests = [
    ['POST', `${PG}/exports/opt-outs`, {}],
    ['POST', `${PG}/privacy/exports`, { to: '+393331239999' }],
  ] as const;
  const ids: string[] = [];
  for (const [method, path, body] of requests) {
    const made = await ask(method, path, body);
    expect(made.status).toBe(202);
    ids.push(made.body.exportId);
  }
  await exec(pool, sql`DELETE FROM job`);
  await exec(pool, sql`UPDATE export SET status = 'FAILED'`);
  await elevenMinutesPass();
  for (const id of ids)
    expect((await ask('POST', `${PG}/exports/${id}`)).body).toMatchObject({ code: 'step_up_required' });
});
