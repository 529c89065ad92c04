import { once as onceEvent } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { actor } from '../../../test/support/drafts.ts';
import { apiDeps } from '../../../test/support/http/api.ts';
import { reset } from '../../../test/support/reset.ts';
import type { Actor, AuthRequest } from '../actor.ts';
import { createSignal } from '../background.ts';
import { many, sql } from '../db/query.ts';
import { AppError } from '../errors.ts';
import { type AnswerStore, createAnswerStore } from '../idempotency.ts';
import { createSecretKey } from '../secrets.ts';
import type { App } from './app.ts';
import { authentication } from './auth.ts';
import { acceptIdempotencyKeys, idempotentHandler, idempotentTx } from './idempotency.ts';
import { createServer } from './server.ts';

const { pool } = testDatabase();

let answers: AnswerStore;
let app: App;
/** Number of times that work was done, by path. */
let done: Record<string, number>;
/** Signal that `/wait` waits for, and one that it does. */
let release: ReturnType<typeof createSignal>;
let waiting: ReturnType<typeof createSignal>;

const count = (path: string): number => {
  done[path] = (done[path] ?? 0) + 1;
  return done[path];
};

beforeAll(async () => {
  answers = createAnswerStore({ pool, secretKey: createSecretKey(Buffer.alloc(32, 7)) });
  app = createServer(apiDeps());
  app.register(async (closed: App) => {
    const authenticate = ({ headers }: AuthRequest) => Promise.resolve({ actor: callerOf(headers), headers: {} });
    closed.register(authentication, { authenticate });
    acceptIdempotencyKeys(closed, { answers });
    registerRoutes(closed);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await app.close();
});
beforeEach(async () => {
  done = {};
  [release, waiting] = [createSignal(), createSignal()];
  await reset(pool, sql`TRUNCATE idempotency_key, audit_entry`);
});

/** The caller that a test names in the header `caller`: `key 2`, `user 3`, or by default key 1. */
function callerOf({ caller = 'key 1' }: AuthRequest['headers']): Actor {
  const [kind, id] = String(caller).split(' ');
  return kind === 'user' ? { ...actor(), kind, keyId: null, userId: Number(id) } : { ...actor(), keyId: Number(id) };
}

function registerRoutes(closed: App): void {
  const deps = { pool, answers };
  closed.post(
    '/secret',
    { config: { secretAnswer: true } },
    idempotentTx(deps, 201, async () => ({ apiKey: `pg_${count('/secret')}` })),
  );
  const work = (path: string) => idempotentTx(deps, 201, async () => ({ n: count(path), text: 'às 9 €' }));
  closed.post('/work', work('/work'));
  closed.put('/confirm', { config: { idempotent: true } }, work('/confirm'));
  closed.put('/plain', async () => ({ n: count('/plain') }));
  closed.post(
    '/empty',
    idempotentTx(deps, 204, async () => void count('/empty')),
  );
  closed.post(
    '/conflict',
    idempotentTx(deps, 201, () => Promise.reject(new AppError('conflict', { message: `${count('/conflict')}` }))),
  );
  closed.post(
    '/broken',
    idempotentTx(deps, 201, () => Promise.reject(new Error(`${count('/broken')}`))),
  );
  closed.post(
    '/limited',
    idempotentTx(deps, 201, () => Promise.reject(new AppError('rate_limited', { message: `${count('/limited')}` }))),
  );
  closed.post(
    '/wait',
    idempotentTx(deps, 201, async () => {
      waiting.raise();
      await release.wait(60_000);
      return { n: count('/wait') };
    }),
  );
  closed.post(
    '/read',
    idempotentHandler(deps, async () => ({ n: count('/read') })),
  );
  closed.register(async (files: App) => {
    files.addContentTypeParser('application/octet-stream', (_request, _payload, ready) => ready(null));
    // Like an upload: its handler reads the stream that the parser left.
    files.post(
      '/upload',
      idempotentHandler(deps, async (request, _reply, pendingAnswer) => {
        let bytes = 0;
        for await (const chunk of request.raw.on('data', () => undefined).iterator()) bytes += (chunk as Buffer).length;
        const answer = { bytes, n: count('/upload') };
        if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(answer));
        return answer;
      }),
    );
  });
}

type Request = { method?: string; body?: object | Buffer | string; type?: string; caller?: string };

async function send(path: string, key: string | undefined, { method = 'POST', body, type, caller }: Request = {}) {
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const response = await fetch(`${app.listeningOrigin}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(caller !== undefined && { caller }),
      ...(payload !== undefined && { 'content-type': type ?? 'application/json' }),
    },
    body: payload === undefined ? null : typeof payload === 'string' ? payload : new Uint8Array(payload),
  });
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.get('idempotency-replayed'),
    type: response.headers.get('content-type'),
    retryAfter: response.headers.get('retry-after'),
  };
}
const stored = () => many<{ key: string; answer: Buffer }>(pool, sql`SELECT key, answer FROM idempotency_key`);

describe('a key', () => {
  test('repeats the status, type and body of a response, and the work is done once', async () => {
    const first = await send('/work', 'a', { body: {} });
    expect(first).toMatchObject({ status: 201, text: '{"n":1,"text":"às 9 €"}', replayed: null });
    expect(await send('/work', 'a', { body: {} })).toEqual({ ...first, replayed: 'true' });
    expect(done).toEqual({ '/work': 1 });
  });

  test('is optional: without one every request is processed, and nothing is stored', async () => {
    await send('/work', undefined);
    expect((await send('/work', undefined)).text).toContain('"n":2');
    expect(await stored()).toEqual([]);
  });

  test('of 1 to 255 printable ASCII characters is accepted, any other is a 400 that names the header', async () => {
    for (const key of ['k', 'k'.repeat(255), '"8e03978e-40d5-43dd" ~!', 'with spaces'])
      expect((await send('/work', key)).status, key).toBe(201);
    for (const key of ['', 'k'.repeat(256), 'caf\u00e9', 'tab\there']) {
      const answer = await send('/work', key);
      expect(answer.status, key).toBe(400);
      expect(JSON.parse(answer.text).details).toEqual([
        { field: 'Idempotency-Key', message: 'must have 1 to 255 printable ASCII characters' },
      ]);
    }
    expect(done['/work']).toBe(4);
  });

  test('counts on a PUT that accepts it, and on no other method', async () => {
    await send('/confirm', 'a', { method: 'PUT' });
    expect(await send('/confirm', 'a', { method: 'PUT' })).toMatchObject({ replayed: 'true' });
    await send('/plain', 'a', { method: 'PUT' });
    await send('/plain', 'a', { method: 'PUT' });
    expect(done).toEqual({ '/confirm': 1, '/plain': 2 });
  });

  test('repeats a response without a body', async () => {
    expect(await send('/empty', 'a')).toMatchObject({ status: 204, text: '' });
    expect(await send('/empty', 'a')).toMatchObject({ status: 204, text: '', replayed: 'true' });
    expect(done).toEqual({ '/empty': 1 });
  });

  test('is bound to method, URL and body: a different request is 409', async () => {
    await send('/work', 'a', { body: { x: 1 } });
    for (const [path, request] of [
      ['/work', { body: { x: 2 } }],
      ['/work', { body: '{"x": 1}' }],
      ['/work', {}],
      ['/work?x=1', { body: { x: 1 } }],
      ['/empty', { body: { x: 1 } }],
      ['/confirm', { method: 'PUT', body: { x: 1 } }],
    ] as const)
      expect(await send(path, 'a', request), path).toMatchObject({ status: 409, replayed: null });
    expect(done).toEqual({ '/work': 1 });
    expect(await send('/work', 'a', { body: { x: 1 } })).toMatchObject({ status: 201, replayed: 'true' });
  });

  test('of a request in progress is 409, which says to retry, and then gets the response', async () => {
    const first = send('/wait', 'a');
    await waiting.wait(60_000);
    expect(await send('/wait', 'a')).toMatchObject({ status: 409, retryAfter: '1' });
    release.raise();
    expect(await first).toMatchObject({ status: 201, replayed: null });
    expect(await send('/wait', 'a')).toMatchObject({ status: 201, text: '{"n":1}', replayed: 'true' });
  });
});

describe('a response', () => {
  test('is encrypted: the table shows neither body nor status', async () => {
    await send('/work', 'a');
    const [row] = await stored();
    expect(row?.answer.toString('latin1')).not.toContain('"n"');
    const other = createAnswerStore({ pool, secretKey: createSecretKey(Buffer.alloc(32, 8)) });
    await expect(other.find({ accountId: 1, key: 'a' })).rejects.toThrow('another key');
    expect(await answers.find({ accountId: 1, key: 'a' })).toMatchObject({ status: 201 });
    expect(await answers.find({ accountId: 2, key: 'a' })).toBeUndefined();
  });

  test('with a 4xx that the same request would get again is repeated, but not that of a malformed body', async () => {
    const first = await send('/conflict', 'a');
    expect(first).toMatchObject({ status: 409, text: expect.stringContaining('"1"') });
    expect(await send('/conflict', 'a')).toEqual({ ...first, replayed: 'true' });
    expect((await send('/work', 'b', { body: '{' })).status).toBe(400);
    expect((await send('/work', 'b', { body: '{' })).status).toBe(400);
    expect((await send('/work', 'b', { body: '{}' })).status).toBe(409);
    expect(done).toEqual({ '/conflict': 1 });
  });

  test('with 5xx or 429 is not repeated: the next request is processed', async () => {
    for (const path of ['/broken', '/limited']) {
      await send(path, 'a');
      expect(await send(path, 'a'), path).toMatchObject({ replayed: null });
    }
    expect(done).toEqual({ '/broken': 2, '/limited': 2 });
    expect(await stored()).toEqual([]);
  });
});

describe('a response that holds a secret', () => {
  test('is repeated for the caller who got it', async () => {
    for (const caller of ['key 1', 'user 1']) {
      const first = await send('/secret', caller, { caller });
      expect(first).toMatchObject({ status: 201, replayed: null });
      expect(await send('/secret', caller, { caller })).toEqual({ ...first, replayed: 'true' });
    }
    expect(done).toEqual({ '/secret': 2 });
  });

  test.each([
    ['another user', 'user 1', 'user 2'],
    ['a key, also one of that user', 'user 1', 'key 1'],
    ['another key', 'key 1', 'key 2'],
  ])('is not repeated for %s: 409 with the reason, and the work is not done again', async (_who, first, other) => {
    expect((await send('/secret', 'a', { caller: first })).text).toContain('pg_1');
    const refused = await send('/secret', 'a', { caller: other });
    expect(refused).toMatchObject({ status: 409, replayed: null });
    expect(refused.text).not.toContain('pg_1');
    expect(JSON.parse(refused.text)).toMatchObject({ error: 'Conflict', message: expect.stringContaining('secret') });
    expect((await send('/secret', 'a', { caller: first })).text).toContain('pg_1');
    expect(done).toEqual({ '/secret': 1 });
  });

  test('of an older version, which did not store its caller, is not repeated', async () => {
    await send('/secret', 'a', { caller: 'user 1' });
    const found = await answers.find({ accountId: 1, key: 'a' });
    const { requestHash = Buffer.alloc(0), body = '' } = found ?? {};
    await reset(pool, sql`TRUNCATE idempotency_key`);
    const caller = null;
    await answers.storeSoon(
      answers.seal({ accountId: 1, key: 'a', requestHash }, { status: 201, type: null, body, caller }),
    );
    expect(await send('/secret', 'a', { caller: 'user 1' })).toMatchObject({ status: 409 });
  });

  test('is the only one that is: other responses are for every caller of the account', async () => {
    const first = await send('/work', 'a', { caller: 'key 1' });
    expect(await send('/work', 'a', { caller: 'key 2' })).toEqual({ ...first, replayed: 'true' });
  });
});

describe('a streamed body', () => {
  const file = (fill: number): Request => ({ body: Buffer.alloc(300_000, fill), type: 'application/octet-stream' });

  test('is hashed while its handler reads it, and read to its end when the response is replayed', async () => {
    const first = await send('/upload', 'a', file(1));
    expect(JSON.parse(first.text)).toEqual({ bytes: 300_000, n: 1 });
    expect(await send('/upload', 'a', file(1))).toEqual({ ...first, replayed: 'true' });
    expect(await send('/upload', 'a', file(2))).toMatchObject({ status: 409, replayed: null });
    expect(done).toEqual({ '/upload': 1 });
  });

  test('that is truncated, with a known key, does no harm', async () => {
    await send('/upload', 'a', file(1));
    const { port } = new URL(app.listeningOrigin);
    const headers = { 'idempotency-key': 'a', 'content-type': 'application/octet-stream', 'content-length': '300000' };
    const cut = httpRequest({ port, method: 'POST', path: '/upload', headers });
    cut.on('error', () => undefined);
    cut.write(Buffer.alloc(1000, 1));
    await onceEvent(cut, 'socket');
    cut.destroy();
    expect(await send('/upload', 'a', file(1))).toMatchObject({ status: 200, replayed: 'true' });
  });
});

test('a POST with a handler that does not store its response is rejected at registration', () => {
  const careless = createServer(apiDeps());
  acceptIdempotencyKeys(careless, { answers });
  expect(() => careless.post('/careless', async () => ({}))).toThrow(
    'POST /careless must have a handler made by idempotentTx()',
  );
  expect(() => careless.put('/careless', async () => ({}))).not.toThrow();
});
