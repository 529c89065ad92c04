import { once } from 'node:events';
import http, { type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fc, test as propertyTest } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { actor } from '../../../test/support/drafts.ts';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { SEND } from '../../../test/support/client.ts';
import { buildApi } from '../../api.ts';
import type { AuthRequest } from '../actor.ts';
import { loadConfig } from '../config.ts';
import { AppError } from '../errors.ts';

const KEY = 'pg_live_right';
const LIMITS = { 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '599' };
const BODY = JSON.stringify({ phoneNumber: '+393331234567', message: 'Hello' });

const calls: AuthRequest[] = [];
let byFramework = 0;

const app = buildApi(
  apiDeps({
    config: loadConfig({ TRUST_PROXY: '127.0.0.1,10.0.0.0/8' }),
    authenticate: (call) => {
      calls.push(call);
      const key = call.headers['x-api-key'];
      if (key === KEY) return Promise.resolve({ actor: actor(), headers: LIMITS });
      if (key === 'no-scope') return Promise.resolve({ actor: { ...actor(), operations: new Set() }, headers: LIMITS });
      if (key === 'too-many') return Promise.reject(new AppError('rate_limited', { retryAfterSeconds: 2.5 }));
      return Promise.reject(new AppError('unauthenticated'));
    },
    accept: {
      one: (_actor, draft) => {
        if (draft.body === 'fails') return Promise.reject(new Error('fault'));
        if (draft.body === 'again') return Promise.resolve({ kind: 'conflict' });
        if (draft.body === 'poor') return Promise.resolve({ kind: 'refused', refusal: 'no_route' });
        return Promise.resolve({ kind: 'accepted', messageId: draft.destination, parts: 1, unicode: false });
      },
      many: () => Promise.resolve([]),
      once: () => Promise.resolve(null),
    },
  }),
);
app.addHook('onRequest', (_request, _reply, done) => {
  byFramework += 1;
  done();
});

let port = 0;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  ({ port } = opened.use(await listening(app)));
});
afterAll(() => opened.disposeAsync());

type Answer = { readonly status: number | undefined; readonly headers: IncomingHttpHeaders; readonly text: string };

async function send(pieces: readonly string[], more: Record<string, string> = {}): Promise<Answer> {
  const length = Buffer.byteLength(pieces.join(''));
  const plain = { 'content-type': 'application/json', 'x-api-key': KEY, 'x-forwarded-proto': 'https' };
  const headers = {
    ...plain,
    ...(length > 0 && !('transfer-encoding' in more) && { 'content-length': length }),
    ...more,
  };
  const request = http.request({ port, host: '127.0.0.1', path: SEND, method: 'POST', headers, agent: false });
  for (const piece of pieces) await new Promise<void>((resolve) => void request.write(piece, () => resolve()));
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return { status: response.statusCode, headers: response.headers, text: (await buffer(response)).toString() };
}

const OF_THE_MOMENT = new Set(['date', 'connection', 'keep-alive', 'content-length', 'x-request-id']);

/** Returns the response as a client sees it, without ids and time. */
const seen = ({ status, headers, text }: Answer) => {
  const rest = Object.entries(headers).filter(([name]) => !OF_THE_MOMENT.has(name));
  return { status, headers: Object.fromEntries(rest), text: text.replace(String(headers['x-request-id']), '') };
};

/** Sends a request twice, the second time so that the framework handles it. */
async function both(body: string, more: Record<string, string> = {}) {
  const [direct, framework] = [await send([body], more), await send([body], { ...more, 'x-other': '1' })];
  return { direct: seen(direct), framework: seen(framework) };
}

const short = fc.record(
  {
    phoneNumber: fc.oneof(fc.constant('+393331234567'), fc.constant('12'), fc.integer()),
    message: fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), fc.constantFrom('poor', 'again')),
    senderName: fc.string({ maxLength: 15 }),
    customerMessageId: fc.option(fc.string({ maxLength: 10 })),
    simulation: fc.oneof(fc.boolean(), fc.constant('yes')),
    validityPeriod: fc.integer({ min: -1, max: 90 }),
    scheduledDate: fc.constantFrom('2026-13-01', '2999-01-01 10:00:00', 'x'),
    sendr: fc.constant('ACME'),
  },
  { requiredKeys: [] },
);
const long = fc.record(
  {
    destination: fc.constantFrom('+393331234567', '0039 333 1234567'),
    sender: fc.constantFrom('ACME', '+39'),
    body: fc.string({ minLength: 1, maxLength: 20 }),
    messageId: fc.string({ maxLength: 5 }),
    placeholders: fc.dictionary(fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 })),
    udhData: fc.constantFrom('050003010201', 'zz'),
  },
  { requiredKeys: ['destination'] },
);
const valid = fc.record({
  phoneNumber: fc.constant('+393331234567'),
  message: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
});
const text = fc.oneof(
  fc.oneof(valid, short, long).map((body) => JSON.stringify(body)),
  fc.constantFrom(
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '\ufeff{}',
    '{"phoneNumber":"+393331234567","message":"\\u0000"}',
    BODY,
  ),
);

propertyTest.prop([text], { numRuns: 150 })(
  'a plain request gets exactly the response that the framework would give',
  async (body) => {
    const { direct, framework } = await both(body);
    expect(direct).toEqual(framework);
  },
);

test.each([
  ['without a right key', { 'x-api-key': 'wrong' }, 401],
  ['without the scope', { 'x-api-key': 'no-scope' }, 403],
  ['over a limit', { 'x-api-key': 'too-many' }, 429],
  ['over plain HTTP from elsewhere', { 'x-forwarded-proto': 'http' }, 403],
])('a request %s gets the same error with the same headers', async (_, headers, status) => {
  const { direct, framework } = await both(BODY, headers);
  expect(direct).toEqual(framework);
  expect(direct.status).toBe(status);
});

test('a fault inside is a 500 that tells nothing, as everywhere', async () => {
  const { direct, framework } = await both(JSON.stringify({ phoneNumber: '+393331234567', message: 'fails' }));
  expect(direct).toEqual(framework);
  expect(direct.status).toBe(500);
});

test('plain requests bypass the framework, also when the body arrives in pieces', async () => {
  const before = byFramework;
  expect((await send([BODY])).status).toBe(200);
  expect((await send([BODY.slice(0, 5), BODY.slice(5, 30), BODY.slice(30)])).status).toBe(200);
  expect(byFramework).toBe(before);
});

test.each([
  ['a header that may mean something', { prefer: 'handling=strict' }],
  ['an Idempotency-Key', { 'idempotency-key': 'a' }],
  ['another type', { 'content-type': 'application/json; charset=iso-8859-1' }],
  ['a page of a browser', { 'sec-fetch-mode': 'navigate', accept: 'text/html' }],
  ['chunks', { 'transfer-encoding': 'chunked' }],
])('%s makes a request one of the framework', async (_, headers) => {
  const before = byFramework;
  await send([BODY], headers);
  expect(byFramework).toBe(before + 1);
});

test('a large body, and one that is put back, are read once', async () => {
  const before = byFramework;
  const large = await send([`${BODY}${' '.repeat(5000)}`]);
  const unknown = await send([JSON.stringify({ phoneNumber: '+393331234567', message: 'x', sendr: 'y' })]);
  expect([large.status, JSON.parse(unknown.text)]).toMatchObject([
    200,
    { warnings: ['unknown field sendr: did you mean sender?'] },
  ]);
  expect(byFramework).toBe(before + 2);
});

propertyTest.prop([fc.array(fc.constantFrom('10.0.0.1', '203.0.113.9', '198.51.100.7', 'x'), { maxLength: 4 })], {
  numRuns: 40,
})('the address behind trusted proxies is the one that the framework finds', async (hops) => {
  calls.length = 0;
  await both(BODY, hops.length > 0 ? { 'x-forwarded-for': hops.join(', ') } : {});
  const [direct, framework] = calls;
  expect(direct?.ip).toBe(framework?.ip);
});
