import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { apiDeps } from '../../test/support/http/api.ts';
import { KEY, openVerifyStage } from '../../test/support/verify.ts';
import type { CountSigned } from '../accounts/authenticate.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import type { App } from '../core/http/app.ts';
import { createServer } from '../core/http/server.ts';
import { verifyHookRoutes } from './hooks.ts';
import { type Service, setHookSecret } from './services.ts';

const { pool } = testDatabase();
const SUPABASE_SECRET = `v1,whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const SECRET = 'a signing key of the product';
const seconds = (): string => String(Math.floor(Date.now() / 1000));

let stage: Awaited<ReturnType<typeof openVerifyStage>>;
let app: App;
/** Signed requests that the limits of the account still allow. */
let allowed = Number.POSITIVE_INFINITY;
beforeAll(async () => {
  stage = await openVerifyStage(pool);
  const { accept, tables, clock } = stage.deps;
  const deps = apiDeps({ pool, tables, clock, secretKey: KEY });
  app = createServer(deps);
  const countSigned: CountSigned = (name, { accountId, plan }) => {
    if (allowed-- <= 0) throw new AppError('rate_limited', { message: `${name} of ${plan} ${accountId}` });
  };
  verifyHookRoutes(app, { ...deps, accept: { ...deps.accept, ...accept }, countSigned });
});
afterAll(() => app.close());

async function newService(secret: string): Promise<Service> {
  const service = await stage.service({ codeMode: 'provided' });
  await transaction(pool, (tx) => setHookSecret(tx, stage.actor, { id: service.id, secret, secretKey: KEY }));
  return service;
}

const hmac = (key: string | Buffer, content: string) => createHmac('sha256', key).update(content);

async function post(product: string, service: Pick<Service, 'id'>, body: string, headers: Record<string, string>) {
  const url = `/hooks/${product}/send-sms/${service.id}`;
  const answer = await app.inject({
    method: 'POST',
    url,
    payload: body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: answer.statusCode, body: answer.json() };
}

const texts = async (): Promise<string[]> =>
  (await stage.submitted()).map(({ destination, body }) => `${destination} ${body.slice(0, 6)}`);

/** The bodies that the pages of the products show, with other numbers. */
const BODIES = {
  supabase: (phone: string, otp: string) => ({
    user: {
      id: '6481a5c1-3d37-4a56-9f6a-bee08c554965',
      aud: 'authenticated',
      phone,
      app_metadata: { provider: 'phone' },
    },
    sms: { otp, sms_type: 'sms' },
  }),
  zitadel: (phone: string, code: string) => ({
    contextInfo: {
      eventType: 'user.human.phone.code.added',
      provider: { id: '285181292935381355', description: 'test' },
      recipientPhoneNumber: phone,
    },
    templateData: { title: 'Zitadel - Verify phone', text: `The phone number needs to be verified (Code ${code}).` },
    args: { code, preferredLoginName: 'Username', lastPhone: phone },
  }),
  authgear: (to: string, code: string) => ({
    to,
    body: `${code} is your code`,
    app_id: 'app',
    template_name: 'verification_sms.txt',
    language_tag: 'en',
    template_variables: { app_name: 'app', code },
  }),
};

const HEADERS = {
  supabase(body: string) {
    const time = seconds();
    const key = Buffer.alloc(24, 9);
    const signature = `v1,${hmac(key, `msg_1.${time}.${body}`).digest('base64')}`;
    return { 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': `v1,AAAA ${signature}` };
  },
  zitadel(body: string) {
    const time = seconds();
    return { 'zitadel-signature': `t=${time},v1=${hmac(SECRET, `${time}.${body}`).digest('hex')}` };
  },
  authgear: (body: string) => ({ 'x-authgear-body-signature': hmac(SECRET, body).digest('hex') }),
};
const OK = { supabase: {}, zitadel: {}, authgear: { code: 'ok' } };
const TOO_SOON = {
  supabase: { status: 200, body: { error: { http_code: 429, message: 'Too soon for another code' } } },
  zitadel: { status: 429, body: { message: 'Too soon for another code' } },
  authgear: { status: 200, body: { code: 'rate_limited', error_detail: 'Too soon for another code' } },
};

test.each([
  ['supabase', SUPABASE_SECRET, '393331270001'],
  ['zitadel', SECRET, '+393331270002'],
  ['authgear', SECRET, '+393331270003'],
] as const)(
  '%s sends its own code, learns in its own words why not, and is refused without its signature',
  async (product, secret, phone) => {
    const service = await newService(secret);
    const body = JSON.stringify(BODIES[product](phone, '424242'));
    expect(await post(product, service, body, HEADERS[product](body))).toEqual({ status: 200, body: OK[product] });
    expect(await texts()).toEqual([`+${phone.replace('+', '')} 424242`]);
    expect(await post(product, service, body, HEADERS[product](body))).toEqual(TOO_SOON[product]);
    const other = body.replaceAll('424242', '434343');
    expect((await post(product, service, other, HEADERS[product](body))).status).toBe(401);
    expect((await post(product, service, body, {})).status).toBe(401);
    const unknown = { id: '01a1fd63-cf7c-7183-929b-000000000099' };
    expect((await post(product, unknown, body, HEADERS[product](body))).status).toBe(401);
    expect(await texts()).toEqual([]);
  },
);

test('a signature of Supabase or Zitadel from another time is refused', async () => {
  const old = String(Number(seconds()) - 400);
  const body = JSON.stringify(BODIES.zitadel('+393331270004', '424242'));
  const headers = { 'zitadel-signature': `t=${old},v1=${hmac(SECRET, `${old}.${body}`).digest('hex')}` };
  expect((await post('zitadel', await newService(SECRET), body, headers)).status).toBe(401);
});

test('a signed request counts within the limits of the account, and sends nothing beyond them', async () => {
  const service = await newService(SECRET);
  const body = JSON.stringify(BODIES.authgear('+393331270005', '424242'));
  allowed = 0;
  const refused = await post('authgear', service, body, HEADERS.authgear(body));
  allowed = Number.POSITIVE_INFINITY;
  const error_detail = `h${service.id} of production ${stage.accountId}`;
  expect(refused).toEqual({ status: 200, body: { code: 'rate_limited', error_detail } });
  expect(await texts()).toEqual([]);
});

test('a signed request from an address outside the enforced allow-list of the account sends nothing', async () => {
  const service = await newService(SECRET);
  const setList = (enforced: boolean, block: string) =>
    exec(
      pool,
      sql`UPDATE account SET ip_allow_list_enforced = ${enforced}, ip_allow_list = ARRAY[${block}]::cidr[]
          WHERE id = ${stage.accountId}`,
    );
  const send = (phone: string) => {
    const body = JSON.stringify(BODIES.authgear(phone, '424242'));
    return post('authgear', service, body, HEADERS.authgear(body));
  };
  await stage.submitted();
  await setList(true, '192.0.2.0/24');
  const refused = { code: 'delivery_rejected', error_detail: "This address is not on the account's allow-list" };
  expect(await send('+393331270010')).toEqual({ status: 200, body: refused });
  expect(await texts()).toEqual([]);
  await setList(false, '192.0.2.0/24');
  expect(await send('+393331270011')).toEqual({ status: 200, body: { code: 'ok' } });
});

test('failures of other customers of an identity product, from its address, lock out no service that was signed for', async () => {
  const [known, unknown] = [await newService(SECRET), await newService(SECRET)];
  const signed = (service: Pick<Service, 'id'>, phone: string, headers = HEADERS.authgear) => {
    const body = JSON.stringify(BODIES.authgear(phone, '424242'));
    return post('authgear', service, body, headers(body));
  };
  expect((await signed(known, '+393331270006')).status).toBe(200);
  const forged = () => ({ 'x-authgear-body-signature': '00' });
  const failures = Array.from({ length: 121 }, () => signed(unknown, '+393331270007', forged));
  expect(new Set((await Promise.all(failures)).map(({ status }) => status))).toContain(401);
  expect((await signed(unknown, '+393331270008')).status).toBe(429);
  expect(await signed(known, '+393331270009')).toEqual({ status: 200, body: { code: 'ok' } });
});
