import { afterAll, beforeEach, expect, test } from 'vitest';
import { apiDeps } from '../../test/support/http/api.ts';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { exec, sql } from '../core/db/query.ts';
import { createGuard } from '../core/outbound.ts';
import { keywordRoutes } from './keyword-routes.ts';

const PATH = '/keyword-rules';
const guard = createGuard({ allowedBlocks: ['127.0.0.1'], ports: [443] });
const { pool, account, otherAccount, call, ...routes } = await openRoutes([keywordRoutes], {
  deps: { outbound: { ...apiDeps().outbound, guard } },
});
afterAll(() => routes[Symbol.asyncDispose]());
beforeEach(() => exec(pool, sql`DELETE FROM keyword_rule`));

const RULE = { keyword: ' Opening  HOURS ', answer: 'From 9 to 18' };
const add = async (body: object = RULE): Promise<number> => (await call('POST', PATH, body)).body.id;

test('a rule is added in one form, listed, changed and deleted', async () => {
  const { status, body } = await call('POST', PATH, { ...RULE, number: '+393399957020' });
  expect([status, body]).toMatchObject([
    201,
    { number: '393399957020', keyword: 'opening hours', answer: 'From 9 to 18', forwardTo: null, fault: null },
  ]);
  expect((await call('GET', PATH)).body).toMatchObject({ total: 1, data: [body] });
  const changed = await call('PATCH', `${PATH}/${body.id}`, { forwardTo: 'https://127.0.0.1/copy', answer: null });
  expect(changed).toMatchObject({ status: 200, body: { answer: null, forwardTo: 'https://127.0.0.1/copy' } });
  expect((await call('DELETE', `${PATH}/${body.id}`)).status).toBe(204);
  expect((await call('GET', PATH)).body).toMatchObject({ total: 0, data: [] });
});

test('a number and keyword have one rule', async () => {
  await add();
  const other = await add({ keyword: 'other', answer: 'x' });
  expect((await call('POST', PATH, RULE)).status).toBe(409);
  expect((await call('PATCH', `${PATH}/${other}`, { keyword: 'opening hours' })).status).toBe(409);
});

test.each([
  [{ keyword: ' ', answer: 'x' }, 'keyword'],
  [{ keyword: 'Stop', answer: 'x' }, 'keyword'],
  [{ keyword: 'ﬃ'.repeat(100), answer: 'x' }, 'keyword'],
  [{ keyword: 'hours' }, 'answer'],
  [{ keyword: 'hours', answer: 'x', number: 'ACME' }, 'number'],
  [{ keyword: 'hours', forwardTo: 'http://example.com/x' }, 'forwardTo'],
  [{ keyword: 'hours', forwardTo: 'https://10.0.0.1/x' }, 'forwardTo'],
  [{ keyword: 'hours', forwardTo: '393331234567' }, 'forwardTo'],
  // No mail server is configured here.
  [{ keyword: 'hours', forwardTo: 'orders@example.com' }, 'forwardTo'],
])('%j is refused with the field %s', async (body, field) => {
  expect(await call('POST', PATH, body)).toMatchObject({ status: 400, body: { details: [{ field }] } });
});

test('what an account cannot see, it cannot change either', async () => {
  const id = await add();
  for (const [method, body] of [
    ['PATCH', { answer: 'x' }],
    ['DELETE', undefined],
  ] as const) {
    const foreign = await call(method, `${PATH}/${id}`, body, otherAccount.apiKey);
    const unknown = await call(method, `${PATH}/999999`, body, otherAccount.apiKey);
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
  }
  expect((await call('GET', PATH, undefined, otherAccount.apiKey)).body).toMatchObject({ total: 0 });
});

test('rules are read with the scope of the inbox, and changed with that of webhooks too; sending needs SMS', async () => {
  const key = (...scopes: Parameters<typeof newKey>[2]) => newKey(pool, account, scopes);
  const [inbox, both, all] = [
    await key('inbox'),
    await key('inbox', 'webhooks'),
    await key('inbox', 'webhooks', 'SMS'),
  ];
  const post = async (as: string, body: object) => (await call('POST', PATH, body, as)).status;
  expect((await call('GET', PATH, undefined, inbox)).status).toBe(200);
  expect(await post(inbox, RULE)).toBe(403);
  expect(await post(both, RULE)).toBe(403);
  expect(await post(both, { keyword: 'copy', forwardTo: '+393331234567' })).toBe(403);
  expect(await post(both, { keyword: 'copy', forwardTo: 'https://127.0.0.1/copy' })).toBe(201);
  const made = await call('POST', PATH, RULE, all);
  expect(made.status).toBe(201);
  // A rule that sends cannot be made to send to everyone without the scope either.
  const patch = async (as: string) => (await call('PATCH', `${PATH}/${made.body.id}`, { keyword: '*' }, as)).status;
  expect([await patch(both), await patch(all)]).toEqual([403, 200]);
});
