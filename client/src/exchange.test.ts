import { expect, test } from 'vitest';
import { HeliographError } from './error.ts';
import { createExchange } from './exchange.ts';

type Step = (request: Request) => Response | Promise<Response>;

/**
 * Creates an exchange with a server that follows a script for each attempt; returns everything that the server
 * received.
 */
function scripted(steps: readonly Step[], { retries = 4, timeoutMs = 30_000 } = {}) {
  const seen: { key: string | null; body: string; at: number }[] = [];
  const exchange = createExchange({
    retries,
    timeoutMs,
    async fetch(request) {
      const step = steps[seen.length] ?? (() => Response.json({ done: true }));
      seen.push({
        key: request.headers.get('idempotency-key'),
        body: await request.clone().text(),
        at: performance.now(),
      });
      return step(request);
    },
  });
  return { exchange, seen };
}

const post = (init: RequestInit = {}): Request =>
  new Request('http://gateway.example.com/x', { method: 'POST', body: '{}', ...init });
const refusal =
  (status: number, headers: Record<string, string> = {}): Step =>
  () =>
    Response.json(
      { status, message: 'no', requestId: 'x' },
      { status, headers: { 'x-request-id': 'r-1', ...headers } },
    );
const reject: Step = () => Promise.reject(new TypeError('fetch failed'));

test.each([
  ['429', refusal(429)],
  ['503', refusal(503)],
  ['409 of a key in progress', refusal(409, { 'retry-after': '0' })],
  ['a lost connection', reject],
])('after %s a request is sent again under the same key', async (_name, step) => {
  const { exchange, seen } = scripted([step, step]);
  expect((await exchange(post())).status).toBe(200);
  expect(seen).toHaveLength(3);
  expect(seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
});

test.each([400, 401, 403, 404, 409, 413, 500, 502])('%i is final: nothing is sent again', async (status) => {
  const { exchange, seen } = scripted([refusal(status)]);
  await expect(exchange(post())).rejects.toMatchObject({ status, requestId: 'r-1', attempts: 1 });
  expect(seen).toHaveLength(1);
});

test('waits for Retry-After', async () => {
  const { exchange, seen } = scripted([refusal(429, { 'retry-after': '1' })]);
  await exchange(post());
  expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThanOrEqual(1000);
});

test('leaves a Retry-After of hours to the caller, in seconds or as a date', async () => {
  const { exchange, seen } = scripted([refusal(503, { 'retry-after': '3600' })]);
  await expect(exchange(post())).rejects.toMatchObject({ retryAfterSeconds: 3600, attempts: 1 });
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  const later = scripted([refusal(503, { 'retry-after': date })]);
  const error = await later.exchange(post()).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HeliographError);
  expect(Object(error).retryAfterSeconds).toBeGreaterThan(3000);
  expect([seen.length, later.seen.length]).toEqual([1, 1]);
});

test('stops after the last attempt, and the failure says how many there were', async () => {
  const { exchange } = scripted([reject, reject, refusal(503)], { retries: 2 });
  await expect(exchange(post())).rejects.toMatchObject({ status: 503, attempts: 3 });
});

test('sends a form with the same bytes at each attempt: its key would not fit other ones', async () => {
  const form = new FormData();
  form.append('file', new Blob(['a,b\n']), 'a.csv');
  const { exchange, seen } = scripted([reject]);
  await exchange(post({ body: form }));
  expect(seen[0]?.body).toContain('a,b');
  expect(seen[1]?.body).toBe(seen[0]?.body);
});

test('sends a new key with each request, keeps a key of the caller, and sends none with GET', async () => {
  const { exchange, seen } = scripted([]);
  await exchange(post());
  await exchange(post());
  await exchange(post({ headers: { 'idempotency-key': 'mine' } }));
  await exchange(new Request('http://gateway.example.com/x'));
  const keys = seen.map(({ key }) => key);
  expect(new Set(keys).size).toBe(4);
  expect(keys.slice(2)).toEqual(['mine', null]);
});

test('gives up an attempt without a response after its time limit', async () => {
  const silent: Step = ({ signal }) =>
    new Promise((_resolve, fail) => {
      signal.addEventListener('abort', () => fail(new Error('aborted', { cause: signal.reason })));
    });
  const { exchange } = scripted([silent, silent], { retries: 1, timeoutMs: 20 });
  await expect(exchange(post())).rejects.toMatchObject({
    status: 0,
    attempts: 2,
    message: expect.stringContaining('aborted'),
  });
});

test("rejects with the caller's own reason when the caller gives up, even between attempts", async () => {
  const control = new AbortController();
  const reason = new Error('changed my mind');
  const { exchange, seen } = scripted([refusal(503, { 'retry-after': '30' })]);
  const asked = exchange(post({ signal: control.signal }));
  await expect.poll(() => seen.length).toBe(1);
  control.abort(reason);
  await expect(asked).rejects.toBe(reason);
  await expect(exchange(post({ signal: control.signal }))).rejects.toBe(reason);
});

test('describes a response that is not our JSON as well as possible', async () => {
  const page: Step = () => new Response('<h1>Bad gateway</h1>', { status: 502, statusText: 'Bad Gateway' });
  await expect(scripted([page]).exchange(post())).rejects.toMatchObject({
    status: 502,
    message: 'Bad Gateway',
    requestId: null,
    details: [],
  });
});

test('streams a file instead of buffering it', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const file: Step = () => new Response(readable, { headers: { 'content-type': 'text/csv' } });
  const answer = await scripted([file]).exchange(new Request('http://gateway.example.com/file'));
  const text = answer.text();
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode('a,b\n'));
  await writer.close();
  expect(await text).toBe('a,b\n');
});
