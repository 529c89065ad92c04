import { Registry } from 'prom-client';
import { afterAll, expect, test } from 'vitest';
import { flatPrice, freeOver } from '../../test/support/drafts.ts';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { KEY } from '../../test/support/verify.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { listOpenCodes, openCode } from '../messages/codes.ts';
import { sendingRoutes } from '../messages/send-routes.ts';
import { createVerifyMeter } from './metrics.ts';
import { verifyGuardRoutes } from './guard-routes.ts';
import { createGuardedAccept } from './plain-sends.ts';
import { verificationRoutes, type VerifyRouteDeps, verifyServiceRoutes } from './routes.ts';

const made = Promise.withResolvers<Accept>();
const accept: Accept = {
  one: async (...args) => (await made.promise).one(...args),
  many: async (...args) => (await made.promise).many(...args),
  once: async (...args) => (await made.promise).once(...args),
};
const tables = { ...freeOver(() => [1]), findPrice: flatPrice(50_000) };
const guarded: typeof sendingRoutes = (app, deps) =>
  sendingRoutes(app, { ...deps, acceptGuarded: createGuardedAccept({ ...deps, tables }) });
const registry = new Registry();
const { account, otherAccount, pool, call, get, ...routes } = await openRoutes(
  [verifyServiceRoutes, verificationRoutes, verifyGuardRoutes, guarded],
  {
    deps: { accept, tables, secretKey: KEY, meter: createVerifyMeter({ registry }) } satisfies Partial<VerifyRouteDeps>,
  },
);
made.resolve(createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null }));
afterAll(() => routes[Symbol.asyncDispose]());

const newService = async (more: object = {}): Promise<string> =>
  (await call('POST', '/verify/services', { name: `s ${Math.random()}`, brand: 'Acme', ...more })).body.id;

test('a code is started, sent again, checked once and used up, with the statuses and codes that clients act on', async () => {
  const serviceId = await newService();
  const started = await call('POST', '/verifications', { serviceId, to: '+393331240001', ip: '203.0.113.7' });
  expect(started).toMatchObject({
    status: 201,
    body: { status: 'PENDING', to: '+393331240001', channel: 'SMS', sendCount: 1, checksLeft: 5 },
  });
  const again = await call('POST', '/verifications', { serviceId, to: '+39 333 124 0001' });
  expect(again).toMatchObject({ status: 429, body: { code: 'resend_too_soon', retryAfter: expect.any(Number) } });
  const { id } = started.body;
  expect(await call('POST', `/verifications/${id}/check`, { code: 'no' })).toMatchObject({
    status: 200,
    body: { id, status: 'PENDING', valid: false, checksLeft: 4 },
  });
  const [row] = await listOpenCodes(pool, account.accountId, [id]);
  const code = row ? openCode(KEY, row) : '';
  const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
  expect(await call('POST', '/verifications/check', { serviceId, to: '+393331240001', code: spaced })).toMatchObject({
    status: 200,
    body: { status: 'APPROVED', valid: true },
  });
  expect(await call('POST', `/verifications/${id}/check`, { code })).toMatchObject({
    status: 409,
    body: { code: 'already_used' },
  });
  expect((await get(`/verifications/${id}`)).body).toMatchObject({ status: 'APPROVED', nextResendAt: null });
  expect((await get(`/verifications/${id}`, otherAccount.apiKey)).status).toBe(404);
  expect(await get('/verify/stats')).toMatchObject({
    status: 200,
    body: [{ key: 'IT', started: 1, sends: 1, approved: 1, cost: 0.05, costPerApproval: 0.05, stopped: 0 }],
  });
});

test('the guard names the rule that stopped a code, a discreet one shows a send, and both send nothing', async () => {
  const countries = { block: ['TJ'] };
  const serviceId = await newService({ guard: { countries } });
  const blocked = await call('POST', '/verifications', { serviceId, to: '+992927001234' });
  expect(blocked).toMatchObject({
    status: 403,
    body: {
      code: 'verification_blocked',
      reasons: [{ rule: 'country', value: 'TJ' }, { rule: 'no_address' }, { rule: 'no_history' }],
    },
  });
  const silent = await newService({ guard: { countries, discreet: true } });
  const hidden = await call('POST', '/verifications', { serviceId: silent, to: '+992927001235' });
  expect(hidden).toMatchObject({ status: 201, body: { status: 'PENDING' } });
  const again = () => call('POST', `/verifications/${hidden.body.id}/resend`, {});
  expect(await again()).toMatchObject({ status: 429, body: { code: 'resend_too_soon' } });
  await exec(pool, sql`UPDATE verification SET resend_at = now() WHERE id = ${hidden.body.id}`);
  expect(await again()).toMatchObject({ status: 200, body: { sendCount: 2 } });
  expect((await again()).status).toBe(429);
  expect(await many(pool, sql`SELECT FROM message WHERE starts_with(destination, '+992')`)).toEqual([]);
  const [range] = (await get('/verify/stats?by=range')).body;
  expect(range).toMatchObject({ key: '+99292700', started: 0, stopped: 2, moneyStopped: 0.1 });
  const watched = await newService({ guard: { countries, mode: 'monitor' } });
  expect((await call('POST', '/verifications', { serviceId: watched, to: '+992927001236' })).status).toBe(201);
  const decisions = (await get('/verify/guard/decisions?outcome=BLOCK')).body;
  expect(
    decisions.map(({ to, enforced, rule, cost }: { to: string; enforced: boolean; rule: string; cost: number }) => [
      to,
      enforced,
      rule,
      cost,
    ]),
  ).toEqual([
    ['+99292*****36', false, 'country', 0.05],
    ['+99292*****35', true, 'country', 0.05],
    ['+99292*****34', true, 'country', 0.05],
  ]);
});

test('a cost cap holds, and a captcha lets a code pass that velocity would stop', async () => {
  const capped = await newService({ guard: { maxCostPerHour: 0.09 } });
  expect((await call('POST', '/verifications', { serviceId: capped, to: '+393331240011' })).status).toBe(201);
  expect(await call('POST', '/verifications', { serviceId: capped, to: '+393331240012' })).toMatchObject({
    status: 429,
    body: {
      code: 'cost_cap',
      reasons: expect.arrayContaining([{ rule: 'cost_cap', value: 0.05, limit: 0.09, window: '1h' }]),
    },
  });
  const serviceId = await newService();
  const statuses: number[] = [];
  for (let n = 0; n < 11; n++)
    statuses.push(
      (
        await call('POST', '/verifications', {
          serviceId,
          to: `+39320${1_111_111 * ((n % 8) + 1) + n}`,
          ip: '198.51.100.9',
        })
      ).status,
    );
  expect(statuses).toEqual([...Array(10).fill(201), 403]);
});

test('settings that cannot work name the field, and nothing is stored', async () => {
  const bad = [
    [{ locales: { en: 'Your code' } }, 'locales.en'],
    [{ guard: { countries: { block: ['XX'] } } }, 'guard.countries.block'],
    [{ sender: '???' }, 'sender'],
  ] as const;
  const before = (await get('/verify/services')).body.length;
  for (const [more, field] of bad)
    expect(await call('POST', '/verify/services', { name: 'bad', brand: 'Acme', ...more })).toMatchObject({
      status: 400,
      body: { details: [{ field }] },
    });
  expect((await get('/verify/services')).body).toHaveLength(before);
});

test('a person releases or blocks a range, and a replay shows what other settings would have stopped', async () => {
  expect(await call('POST', '/verify/guard/ranges/+99290/block')).toMatchObject({
    status: 200,
    body: { prefix: '+99290', state: 'BLOCKED' },
  });
  expect(await call('POST', '/verify/guard/ranges/+99290/release')).toMatchObject({
    status: 200,
    body: { state: 'RELEASED' },
  });
  expect((await get('/verify/guard/ranges', otherAccount.apiKey)).body).toEqual([]);
  const guard = { countries: { allow: ['FR'] } };
  const replayed = (await call('POST', '/verify/guard/replay', { guard })).body;
  expect(replayed.sends).toBeGreaterThan(10);
  expect(replayed).toMatchObject({ stopped: replayed.sends, peopleBlocked: 1, rules: { country: replayed.sends } });
});

test('codes sent as plain messages are guarded by the address of their user', async () => {
  const key = await newKey(pool, account, ['SMS']);
  const send = (n: number) =>
    routes.app.inject({
      method: 'POST',
      url: '/api/message-server/sms/send',
      headers: { 'x-api-key': key },
      payload: {
        phoneNumber: `+39348${1_111_111 * ((n % 8) + 1) + n}`,
        message: 'Code 1',
        purpose: 'otp',
        userIp: '192.0.2.4',
      },
    });
  const statuses: number[] = [];
  for (let n = 0; n < 11; n++) statuses.push((await send(n)).statusCode);
  expect(statuses).toEqual([...Array(10).fill(200), 403]);
});

test('the codes that were sent, stopped and entered are counted', async () => {
  registry.resetMetrics();
  const serviceId = await newService({ guard: { countries: { block: ['FR'] } } });
  const { id } = (await call('POST', '/verifications', { serviceId, to: '+393331249001' })).body;
  await call('POST', '/verifications', { serviceId, to: '+33612345678' });
  const [row] = await listOpenCodes(pool, account.accountId, [id]);
  await call('POST', `/verifications/${id}/check`, { code: row ? openCode(KEY, row) : '' });
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'heliograph_verify_codes_total{channel="SMS"} 1',
      'heliograph_verify_stopped_total{outcome="BLOCK",rule="country"} 1',
      'heliograph_verify_approval_seconds_count 1',
    ]),
  );
});

test('the outcome of a code that was sent as a plain message is reported by the id of the message', async () => {
  const apiKey = await newKey(pool, account, ['SMS']);
  const send = (more: object) =>
    routes.app.inject({
      method: 'POST',
      url: '/api/message-server/sms/send',
      headers: { 'x-api-key': apiKey },
      payload: { phoneNumber: '+393331249002', message: 'Code 1', ...more },
    });
  const report = async (response: Awaited<ReturnType<typeof send>>) =>
    (await call('POST', `/messages/${response.json().messageId}/feedback`, { outcome: 'converted' }, apiKey)).status;
  const guarded = await send({ purpose: 'otp', userIp: '198.51.100.4' });
  expect([await report(guarded), await report(guarded), await report(await send({}))]).toEqual([204, 409, 404]);
});

test('a key that sends codes can neither change a service nor release a range', async () => {
  const id = await newService();
  const app = await newKey(pool, account, ['verify', 'SMS', 'money']);
  const secret = 'a secret of a hook';
  for (const [method, path, body] of [
    ['POST', '/verify/services', { name: 'own', brand: 'Acme' }],
    ['PATCH', `/verify/services/${id}`, { guard: { mode: 'off' } }],
    ['PUT', `/verify/services/${id}/hook-secret`, { secret }],
    ['DELETE', `/verify/services/${id}`],
    ['POST', '/verify/guard/ranges/+99244012/release'],
  ] as const)
    expect(await call(method, path, body, app)).toMatchObject({
      status: 403,
      body: { message: 'These credentials lack the scope "keys"' },
    });
  expect((await call('POST', '/verify/guard/ranges/+99244012/block', {}, app)).status).toBe(200);
});
