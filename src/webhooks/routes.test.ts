import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { startReceiver } from '../../test/support/http/receiver.ts';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { SCOPES } from '../core/actor.ts';
import { many, sql } from '../core/db/query.ts';
import { createGuard } from '../core/outbound.ts';
import { createPoster } from '../core/outbound-post.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import { listEndpoints } from './endpoints.ts';
import { webhookRoutes } from './routes.ts';

const A = '/api/partner-gateway/v1/webhooks/delivery-status';
const B = '/api/webhooks/delivery-status';

const receiver = await startReceiver();
const guard = createGuard({ allowedBlocks: ['127.0.0.1'], ports: [443, receiver.port] });
const poster = createPoster({ guard, ca: TEST_CERT });
const nothing = () => Promise.reject(new Error('nothing is fetched'));
const { pool, account, otherAccount, call, ...routes } = await openRoutes([webhookRoutes, endpointRoutes], {
  base: '',
  deps: {
    outbound: { guard, poster, fetchPicture: nothing, signOn: { guard, fetch: nothing }, resolveTexts: nothing },
  },
});
afterEach(async () => {
  receiver.answer({});
  await call('DELETE', A);
});
afterAll(async () => {
  await routes[Symbol.asyncDispose]();
  await poster.close();
  await receiver[Symbol.asyncDispose]();
});

const urlOf = (path: string) => `${receiver.url}${path}`;
const registerA = (path = '/a', key?: string) => call('POST', A, { callbackUrl: urlOf(path) }, key);
const instant = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
const secret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);
const fresh = {
  id: expect.any(Number),
  status: 'active',
  disabledReason: null,
  failingSince: null,
  createdAt: instant,
  updatedAt: instant,
};

describe('registering', () => {
  test('form A answers 201 with the secret, which is never shown again', async () => {
    const { status, body } = await registerA();
    expect([status, body]).toEqual([201, { ...fresh, form: 'A', callbackUrl: urlOf('/a'), secret }]);
    const { secret: _secret, ...rest } = body;
    expect(await call('GET', A)).toEqual({ status: 200, body: rest });
    expect(JSON.stringify(await listEndpoints(pool, { accountIds: [account.accountId] }))).not.toContain(body.secret);
  });

  test('form B answers 201 with url and method', async () => {
    const { status, body } = await call('POST', B, { url: urlOf('/b'), method: 'POST', events: ['all'] });
    const warnings = ['unknown field events'];
    expect([status, body]).toEqual([201, { ...fresh, form: 'B', url: urlOf('/b'), method: 'POST', secret, warnings }]);
    const { secret: _secret, warnings: _warnings, ...rest } = body;
    expect(await call('GET', B)).toEqual({ status: 200, body: rest });
  });

  test('takes the place of an earlier one of either form, with another id and secret', async () => {
    const first = await registerA();
    const second = await call('POST', B, { url: urlOf('/b') });
    expect(second.body.id).not.toBe(first.body.id);
    expect(second.body.secret).not.toBe(first.body.secret);
    expect((await call('GET', A)).body).toMatchObject({ id: second.body.id, form: 'B', callbackUrl: urlOf('/b') });
    expect(await listEndpoints(pool, { accountIds: [account.accountId] })).toHaveLength(1);
  });

  test.each([
    ['POST', A, {}, 'callbackUrl'],
    ['POST', A, { callbackUrl: 7 }, 'callbackUrl'],
    ['POST', A, { callbackUrl: null }, 'callbackUrl'],
    ['POST', A, { callbackUrl: 'http://example.com' }, 'callbackUrl'],
    ['POST', A, { callbackUrl: 'https://10.0.0.1' }, 'callbackUrl'],
    ['POST', A, { callbackUrl: 'https://no-such-host.invalid' }, 'callbackUrl'],
    ['POST', A, { callbackUrl: `https://localhost/${'x'.repeat(2048)}` }, 'callbackUrl'],
    ['POST', A, { url: 'https://localhost' }, 'callbackUrl'],
    ['PUT', A, { callbackUrl: 'https://localhost/#' }, 'callbackUrl'],
    ['POST', B, { url: 'https://user@localhost', method: 'POST' }, 'url'],
    ['POST', B, { url: 'https://localhost', method: 'GET' }, 'method'],
    ['POST', B, { callbackUrl: 'https://localhost' }, 'url'],
    ['PUT', B, { url: 'https://localhost:22' }, 'url'],
  ] as const)('%s %s with %j is 400, names the field, and changes nothing', async (method, path, body, field) => {
    await registerA();
    const before = await listEndpoints(pool, { accountIds: [account.accountId] });
    const answer = await call(method, path, body);
    expect([answer.status, answer.body.details.map((d: { field: string }) => d.field)]).toEqual([400, [field]]);
    expect(await listEndpoints(pool, { accountIds: [account.accountId] })).toEqual(before);
  });

  test('a change without a webhook is 404, whatever its URL', async () => {
    const { apiKey } = await routes.newAccount();
    const bodies = [
      [A, { callbackUrl: 'http://10.0.0.1' }],
      [B, { url: 'http://10.0.0.1' }],
    ] as const;
    for (const [path, body] of bodies) expect((await call('PUT', path, body, apiKey)).status).toBe(404);
  });

  test('of two at the same time one is left', async () => {
    const answers = await Promise.all([registerA('/1'), registerA('/2'), call('POST', B, { url: urlOf('/3') })]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const [left, ...others] = await listEndpoints(pool, { accountIds: [account.accountId] });
    expect(others).toEqual([]);
    expect(answers.map(({ body }) => body.id)).toContain(left?.id);
  });
});

describe('changing and deleting', () => {
  test('another URL keeps id, form and secret', async () => {
    const { body: made } = await registerA();
    const answer = await call('PUT', A, { callbackUrl: urlOf('/other') });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: made.id, form: 'A', callbackUrl: urlOf('/other') });
    await call('POST', `${A}/test`);
    const { path, headers, body } = receiver.requests.at(-1) ?? {};
    expect(path).toBe('/other');
    expect(() => new Webhook(made.secret).verify(body ?? '', { ...headers })).not.toThrow();
  });

  test('a URL that is put again makes a disabled webhook active', async () => {
    await registerA();
    await many(
      pool,
      sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'gone', failing_since = now()`,
    );
    expect((await call('GET', A)).body).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
      failingSince: instant,
    });
    const { body } = await call('PUT', B, { url: urlOf('/a') });
    expect(body).toMatchObject({ status: 'active', disabledReason: null, failingSince: null });
  });

  test('a deleted one is gone: 204, then 404', async () => {
    for (const path of [A, B]) {
      await registerA();
      expect(await call('DELETE', path)).toEqual({ status: 204, body: null });
      expect((await call('DELETE', path)).status).toBe(404);
    }
  });

  test('without one everything but registering is 404', async () => {
    const answers = [
      await call('GET', A),
      await call('GET', B),
      await call('DELETE', A),
      await call('DELETE', B),
      await call('PUT', A, { callbackUrl: urlOf('/a') }),
      await call('PUT', B, { url: urlOf('/b') }),
      await call('POST', `${A}/secret`),
      await call('POST', `${A}/test`),
    ];
    const none = { status: 404, body: { message: 'The account has no webhook' } };
    expect(answers).toMatchObject(answers.map(() => none));
  });
});

describe('the secret', () => {
  test('is another one after a rotation, and both sign', async () => {
    const { body: made } = await registerA();
    const { status, body: rotated } = await call('POST', `${A}/secret`);
    expect([status, rotated]).toEqual([200, { secret, previousSecretUntil: instant }]);
    expect(rotated.secret).not.toBe(made.secret);
    expect(Date.parse(rotated.previousSecretUntil) - Date.now()).toBeGreaterThan(23 * 3600 * 1000);
    await call('POST', `${A}/test`);
    const { headers = {}, body = '' } = receiver.requests.at(-1) ?? {};
    for (const each of [made.secret, rotated.secret])
      expect(() => new Webhook(each).verify(body, { ...headers })).not.toThrow();
  });

  test('before two rotations signs no more', async () => {
    const { body: made } = await registerA();
    await call('POST', `${A}/secret`);
    await call('POST', `${A}/secret`);
    await call('POST', `${A}/test`);
    const { headers = {}, body = '' } = receiver.requests.at(-1) ?? {};
    expect(() => new Webhook(made.secret).verify(body, { ...headers })).toThrow();
  });
});

describe('the test', () => {
  test('posts a sample event in form A and tells what the receiver answered', async () => {
    await registerA('/sample');
    receiver.answer({ status: 202, body: 'thank you' });
    expect(await call('POST', `${A}/test`)).toEqual({
      status: 200,
      body: { acknowledged: true, status: 202, durationMs: expect.any(Number), error: null, answer: 'thank you' },
    });
    const { path, body = '' } = receiver.requests.at(-1) ?? {};
    expect(path).toBe('/sample');
    expect(JSON.parse(body)).toEqual({
      eventType: 'DELIVERY',
      messageId: expect.any(String),
      customerMessageId: 'webhook-test',
      destination: '+15005550006',
      statusCode: 3,
      description: 'delivered',
      channel: 'SMS',
      timestamp: instant,
    });
  });

  test('posts it in form B to a webhook of form B', async () => {
    await call('POST', B, { url: urlOf('/b') });
    await call('POST', `${A}/test`);
    expect(JSON.parse(receiver.requests.at(-1)?.body ?? '')).toMatchObject({
      phoneNumber: '+15005550006',
      status: 'DELIVERED',
      channel: 'sms',
      error: null,
    });
  });

  test('tells of a refusal, and of no answer', async () => {
    await registerA();
    receiver.answer({ status: 500 });
    expect((await call('POST', `${A}/test`)).body).toMatchObject({ acknowledged: false, status: 500, error: null });
    receiver.answer({ manner: 'close' });
    expect((await call('POST', `${A}/test`)).body).toMatchObject({
      acknowledged: false,
      status: null,
      error: 'the connection was closed before the response was complete',
    });
  });
});

describe('endpoints', () => {
  const ENDPOINTS = '/api/partner-gateway/v1/webhooks/endpoints';
  const add = (path: string, more: object = {}, key?: string) =>
    call('POST', ENDPOINTS, { url: urlOf(path), eventTypes: ['message.*'], ...more }, key);

  test('are made, changed, tested, paused and deleted beside the webhook of the specification', async () => {
    await registerA();
    const { status, body } = await add('/e', { filters: { channels: ['SMS'] }, headers: { 'X-Token': 'hidden' } });
    expect([status, body]).toMatchObject([201, { format: 'v2', state: 'ACTIVE', headers: ['X-Token'], secret }]);
    expect((await call('GET', ENDPOINTS)).body.map(({ id }: { id: string }) => id)).toEqual(['default', body.id]);
    const path = `${ENDPOINTS}/${body.id}`;
    await call('POST', `${path}/test`);
    const tested = receiver.requests.at(-1);
    expect(tested?.headers).toMatchObject({ 'x-token': 'hidden' });
    expect(JSON.parse(tested?.body ?? '')).toMatchObject({ type: 'message.delivered', accountId: account.accountId });
    new Webhook(body.secret).verify(tested?.body ?? '', { ...tested?.headers });
    const changed = await call('PATCH', path, { eventTypes: ['message.read'], status: 'PAUSED' });
    expect(changed.body).toMatchObject({ eventTypes: ['message.read'], state: 'PAUSED', headers: ['X-Token'] });
    expect((await call('POST', `${path}/enable`)).body).toMatchObject({ state: 'ACTIVE' });
    expect((await call('PATCH', `${ENDPOINTS}/default`, { status: 'PAUSED' })).body).toMatchObject({ state: 'PAUSED' });
    expect((await call('GET', A)).body).toMatchObject({ status: 'paused' });
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });

  test('show amounts at another URL only if who changes it may see them', async () => {
    const { body } = await add('/e');
    const path = `${ENDPOINTS}/${body.id}`;
    const apiKey = await newKey(pool, account, ['webhooks']);
    const shown = async (change: object, key?: string) => {
      expect((await call('PATCH', path, change, key)).status).toBe(200);
      const endpoints = await listEndpoints(pool, { accountIds: [account.accountId] });
      return endpoints.find(({ ref }) => String(ref) === body.id)?.showsAmounts;
    };
    expect(await shown({ url: urlOf('/f') })).toBe(true);
    expect(await shown({ name: 'x', url: urlOf('/f') }, apiKey)).toBe(true);
    expect(await shown({ url: urlOf('/g') }, apiKey)).toBe(false);
    expect(await shown({ url: urlOf('/f') })).toBe(false);
    await call('DELETE', path);
  });

  test('name every field at fault, are unlike each other, and not more than twenty', async () => {
    const headers = { Host: 'x', 'webhook-id': 'x' };
    const { status, body } = await add('/e', { eventTypes: ['message.red'], filters: { countries: ['XX'] }, headers });
    expect(status).toBe(400);
    expect(body.details).toEqual([
      { field: 'eventTypes[0]', message: 'is unknown, did you mean message.read' },
      { field: 'filters.countries', message: 'has an unknown country, XX' },
      { field: 'headers.Host', message: 'is set by the gateway' },
      { field: 'headers.webhook-id', message: 'is set by the gateway' },
    ]);
    expect((await call('POST', ENDPOINTS, { url: 'https://10.0.0.1/', eventTypes: ['*'] })).status).toBe(400);
    const made = [];
    for (let n = 0; n < 20; n++) made.push(await add(`/${n}`));
    expect(made.every((one) => one.status === 201)).toBe(true);
    expect((await add('/more')).status).toBe(403);
    await call('DELETE', `${ENDPOINTS}/${made[0]?.body.id}`);
    expect((await add('/1')).status).toBe(409);
    expect((await add('/1', { eventTypes: ['message.read'] })).status).toBe(201);
    expect((await call('GET', `${ENDPOINTS}/${made[1]?.body.id}`, undefined, otherAccount.apiKey)).status).toBe(404);
    const { body: all } = await call('GET', ENDPOINTS);
    for (const { id } of all) await call('DELETE', `${ENDPOINTS}/${id}`);
  });
});

describe('who may', () => {
  test('an account sees and changes its own webhook only', async () => {
    await registerA('/acme');
    await registerA('/neighbour', otherAccount.apiKey);
    expect((await call('GET', A, undefined, otherAccount.apiKey)).body.callbackUrl).toBe(urlOf('/neighbour'));
    expect((await call('DELETE', A, undefined, otherAccount.apiKey)).status).toBe(204);
    expect((await call('GET', A)).body.callbackUrl).toBe(urlOf('/acme'));
  });

  test('a key without the scope webhooks gets 403 on every route', async () => {
    const operations = SCOPES.filter((scope) => scope !== 'webhooks');
    const apiKey = await newKey(pool, account, operations);
    const answers = await Promise.all([
      ...[A, B].flatMap((path) => [call('GET', path, undefined, apiKey), call('DELETE', path, undefined, apiKey)]),
      ...[A, B, `${A}/secret`, `${A}/test`].map((path) => call('POST', path, {}, apiKey)),
      ...[A, B].map((path) => call('PUT', path, {}, apiKey)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
  });
});

test('the audit log tells who registered, changed, rotated and deleted, and no more of the URL than its host', async () => {
  const [last] = await many<{ id: string }>(pool, sql`SELECT max(id::text) AS id FROM audit_entry`);
  await registerA('/hook?token=hidden');
  await call('PUT', A, { callbackUrl: urlOf('/hook?token=hidden2') });
  await call('POST', `${A}/secret`);
  await call('DELETE', A);
  await call('DELETE', A);
  const entries = await many<{ action: string; subject: string; detail: object }>(
    pool,
    sql`SELECT action, subject, detail, actor_kind AS kind FROM audit_entry
      WHERE account_id = ${account.accountId} AND id::text > ${last?.id ?? ''} ORDER BY id`,
  );
  const host = `localhost:${receiver.port}`;
  const subject = expect.stringMatching(/^webhook:\d+$/);
  expect(entries).toEqual([
    { action: 'webhook.create', subject, detail: { host, form: 'A' }, kind: 'key' },
    { action: 'webhook.update', subject, detail: { host }, kind: 'key' },
    { action: 'webhook.rotate-secret', subject, detail: {}, kind: 'key' },
    { action: 'webhook.delete', subject, detail: {}, kind: 'key' },
  ]);
});
