import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../test/support/http/api.ts';
import { type OperatorApi, openOperatorApi } from '../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../test/support/program.ts';
import { OPERATOR_PATH } from './accounts/operator-fields.ts';
import { buildApi } from './api.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

/** Every operator route, read from the router so that none is missed. */
async function listRoutes(): Promise<[method: string, url: string][]> {
  const routes: [string, string][] = [];
  const deps = apiDeps();
  const app = buildApi(deps);
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) if (url.startsWith(OPERATOR_PATH) && each !== 'HEAD') routes.push([each, url]);
  });
  await app.ready();
  await app.close();
  await deps.pool.end();
  return routes;
}

test('no operator route accepts an owner, an API key or an unauthenticated caller, whatever the request contains', async () => {
  const { username, password, apiKey } = program.account;
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const routes = await listRoutes();
  expect(routes.length).toBeGreaterThan(40);
  const client = program.clientOf('');
  for (const [method, url] of routes) {
    const path = url.replace(/:\w+/g, '1');
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{"name":' };
    const ask = (headers: Record<string, string>) => client.request(method, path, { ...body, headers });
    const [owner, key] = [await ask({ authorization: basic, 'x-api-key': '' }), await ask({ 'x-api-key': apiKey })];
    expect([url, owner.status, key.status]).toEqual([url, 403, 403]);
    expect(owner.body).toMatchObject({ message: 'Only operators of the gateway may do this' });
    expect([url, (await ask({ 'x-api-key': '' })).status]).toEqual([url, 401]);
  }
});

test('an API key that an operator created does not have operator rights', async () => {
  const { body } = await program
    .clientOf('')
    .request('GET', `${OPERATOR_PATH}/overview`, { headers: { 'x-api-key': program.account.apiKey } });
  expect(body).toMatchObject({ status: 403 });
  expect((await operator.request('GET', '/overview')).status).toBe(200);
});

test.each([
  ['GET', '/accounts/999999'],
  ['PUT', '/accounts/999999', { name: 'x' }],
  ['POST', '/accounts/999999/credit', { amount: 1 }],
  ['GET', '/accounts/999999/ledger'],
  ['POST', '/accounts/999999/webhook/enable'],
  ['DELETE', '/prices/999999'],
  ['GET', '/connections/none'],
  ['GET', '/connections/none/minutes'],
  ['PUT', '/connections/none', { status: 'paused' }],
  ['DELETE', '/connections/none'],
  ['POST', '/connections/none/test'],
  ['POST', '/connections/none/templates/sync'],
  ['POST', '/routes', { channel: 'SMS', prefix: '39', connection: 'none' }],
  ['DELETE', '/routes/999999'],
  ['POST', '/senders', { identity: '1', connection: 'none', accountId: null }],
  ['POST', '/senders/999999/register', { identity: '1', connection: 'none' }],
  ['DELETE', '/senders/999999'],
  ['POST', '/numbers', { number: '1', connection: 'none', accountId: 1 }],
  ['DELETE', '/numbers?number=1&connection=none'],
  ['POST', '/schedules/missed/999999/release'],
  ['POST', '/schedules/missed/999999/cancel'],
  ['GET', '/receipts/hours?connection=none'],
] as const)('%s %s of something that there is not is 404', async (method, path, body?: object) => {
  expect(await operator.request(method, path, body)).toMatchObject({ status: 404 });
});

test.each([
  ['POST', '/accounts', { name: '', plan: 'gold', credit: -1 }, ['name', 'plan', 'credit']],
  ['POST', '/accounts', { name: 'x', credit: 0.000_000_1 }, ['credit']],
  [
    'PUT',
    '/accounts/1',
    { status: 'gone', ratePerSecond: 0, channels: ['FAX'] },
    ['status', 'ratePerSecond', 'channels[0]'],
  ],
  ['PUT', '/accounts/1', { defaultCountry: 'QQ' }, ['defaultCountry']],
  ['POST', '/accounts/1/credit', { amount: 0 }, ['amount']],
  ['POST', '/accounts/1/credit', { amount: 0.000_000_1 }, ['amount']],
  ['PUT', '/prices', { channel: 'FAX', prefix: 'abc', price: -1 }, ['channel', 'prefix', 'price']],
  ['PUT', '/prices', { channel: 'SMS', prefix: '39', price: 0.000_000_1 }, ['price']],
  ['GET', '/prices/check?channel=SMS&number=x', undefined, ['number']],
  ['POST', '/connections', { name: '-', kind: 'fax' }, ['name', 'kind', 'settings', 'secret']],
  ['POST', '/routes', { channel: 'RCS', prefix: '+39', connection: 7 }, ['channel', 'prefix', 'connection']],
  ['GET', '/routes/check', undefined, ['number']],
  ['POST', '/senders', { identity: '', connection: '' }, ['identity', 'connection', 'accountId']],
  ['POST', '/unknowns/settle', { messageIds: ['x'], as: 'lost' }, ['messageIds[0]', 'as']],
  ['POST', '/fence/pause', {}, ['reason']],
  ['GET', '/reconciliation?hours=0', undefined, ['hours']],
  ['GET', '/receipts/hours?from=2026-01-02T00:00Z&to=2026-01-01T00:00Z', undefined, ['from']],
  ['GET', '/receipts/hours?from=2026-02-31T00:00Z&to=2026-02-30T00:00Z', undefined, ['to', 'from']],
  ['GET', '/accounts?sort=colour&status=gone', undefined, ['sort', 'status']],
] as const)('%s %s with %j names every field at fault', async (method, path, body, fields) => {
  const answer = await operator.request(method, path, body);
  expect(answer.status).toBe(400);
  const { details } = answer.body as { details: { field: string }[] };
  expect(details.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
});
