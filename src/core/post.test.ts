import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { createGuard } from './outbound.ts';
import { createPoster, type Poster } from './outbound-post.ts';

let receiver: Receiver;
let poster: Poster;
const posters: Poster[] = [];

/** A poster that may reach loopback addresses, at the receiver's port. */
function makePoster(options: Partial<Parameters<typeof createPoster>[0]> = {}): Poster {
  const guard = createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [receiver.port] });
  const made = createPoster({ guard, ca: TEST_CERT, ...options });
  posters.push(made);
  return made;
}

beforeAll(async () => {
  receiver = await startReceiver();
  poster = makePoster();
});
afterEach(() => receiver.answer({}));
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await Promise.all(posters.map((each) => each.close()));
});

const request = (path = '/hook') => ({
  url: `${receiver.url}${path}`,
  headers: { 'content-type': 'application/json', 'webhook-id': 'one' },
  body: '{"text":"grüße"}',
});
const failed = (reason: string) => ({ kind: 'failed', reason, durationMs: expect.any(Number) });
const answered = (status: number) => ({
  kind: 'answered',
  status,
  retryAfterMs: null,
  body: expect.any(String),
  durationMs: expect.any(Number),
});

describe('a good receiver', () => {
  test('gets the body and the headers unchanged, and its status is returned', async () => {
    receiver.answer({ status: 204 });
    expect(await poster.post(request('/hook?key=1'))).toEqual(answered(204));
    expect(receiver.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/hook?key=1',
      headers: { 'content-type': 'application/json', 'webhook-id': 'one', host: `localhost:${receiver.port}` },
      body: '{"text":"grüße"}',
    });
  });

  test('gets consecutive posts over one connection', async () => {
    await poster.post(request());
    const before = receiver.connections();
    for (let i = 0; i < 5; i++) await poster.post(request());
    expect(receiver.connections()).toBe(before);
  });

  test('may send any number of responses over one connection: the limit is per response', async () => {
    receiver.answer({ body: 'x'.repeat(16_000) });
    await poster.post(request());
    const before = receiver.connections();
    for (let i = 0; i < 40; i++) expect(await poster.post(request())).toEqual(answered(200));
    expect(receiver.connections()).toBe(before);
  });

  test('has its Retry-After returned', async () => {
    receiver.answer({ status: 429, headers: { 'retry-after': '120' } });
    expect(await poster.post(request())).toMatchObject({ status: 429, retryAfterMs: 120_000 });
  });

  test('that redirects is not followed', async () => {
    await using other = await startReceiver();
    receiver.answer({ status: 307, headers: { location: other.url } });
    expect(await poster.post(request())).toEqual(answered(307));
    expect(other.connections()).toBe(0);
  });
});

describe('a bad receiver', () => {
  test.each(['endless', 'gzip bomb'] as const)(
    'with %s body is cut off after 16 KiB, its status counts',
    async (manner) => {
      receiver.answer({ manner });
      expect(await poster.post(request())).toEqual(answered(200));
    },
  );

  test.each(['drip', 'chunk extensions'] as const)(
    'that never ends the body of its success (%s) has acknowledged the post',
    async (manner) => {
      receiver.answer({ manner });
      const hasty = makePoster({ deadlineMs: 300 });
      expect(await hasty.post(request())).toMatchObject({ kind: 'answered', status: 200 });
    },
  );

  test.each(['silent', 'drip headers'] as const)(
    'that is %s is left at the deadline, body and headers included',
    async (manner) => {
      receiver.answer({ manner });
      const hasty = makePoster({ deadlineMs: 300 });
      expect(await hasty.post(request())).toEqual(failed('no complete response within 0.3 s'));
    },
  );

  test.each([
    ['header bomb', 'the headers of the response are too long'],
    ['interim responses', 'too many interim responses'],
    ['close', 'the connection was closed before the response was complete'],
    ['garbage', 'the response is not valid HTTP'],
  ] as const)('with %s fails with the reason in words', async (manner, reason) => {
    receiver.answer({ manner });
    expect(await poster.post(request())).toEqual(failed(reason));
  });

  test('does not affect the next post', async () => {
    const other = await startReceiver();
    other.answer(({ path }) => (path === '/bad' ? { manner: 'silent' } : {}));
    const own = makePoster({ guard: createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [other.port] }) });
    const bad = own.post({ ...request(), url: `${other.url}/bad` });
    expect(await own.post({ ...request(), url: `${other.url}/good` })).toEqual(answered(200));
    await other.received(2);
    await other[Symbol.asyncDispose]();
    expect(await bad).toEqual(failed('the connection was closed before the response was complete'));
  });
});

describe('what is not called', () => {
  const loopback = ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '127.1'];
  test.each(loopback)('a non-public address: %s', async (host) => {
    const strict = makePoster({ guard: createGuard({ allowedBlocks: [], ports: [receiver.port] }) });
    const before = receiver.connections();
    const result = await strict.post({ ...request(), url: `https://${host}:${receiver.port}/` });
    expect(result).toEqual(failed('the host has a non-public address'));
    expect(receiver.connections()).toBe(before);
  });

  test('a name with a public and a non-public address', async () => {
    const resolve = () => Promise.resolve(['93.184.215.14', '127.0.0.1']);
    const mixed = makePoster({ guard: createGuard({ allowedBlocks: [], ports: [receiver.port], resolve }) });
    expect(await mixed.post(request())).toEqual(failed('the host has a non-public address'));
  });

  test('a name that changes its address: each new connection is checked again', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const guard = createGuard({
      allowedBlocks: ['127.0.0.1'],
      ports: [receiver.port],
      resolve: async () => answers.shift() ?? [],
    });
    receiver.answer({ headers: { connection: 'close' } });
    const rebound = makePoster({ guard });
    const post = () => rebound.post({ ...request(), url: `https://localhost:${receiver.port}/` });
    expect(await post()).toEqual(answered(200));
    expect(await post()).toEqual(failed('the host has a non-public address'));
  });

  test('a host that does not resolve', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const lost = makePoster({ guard: createGuard({ allowedBlocks: [], ports: [receiver.port], resolve }) });
    expect(await lost.post(request())).toEqual(failed('the host does not resolve'));
  });

  test('a host whose name server never responds, at the deadline', async () => {
    const resolve = () => new Promise<never>(() => undefined);
    const guard = createGuard({ allowedBlocks: [], ports: [receiver.port], resolve });
    const slow = makePoster({ guard, deadlineMs: 300 });
    expect(await slow.post(request())).toEqual(failed('no complete response within 0.3 s'));
  });

  test('a server whose certificate is not trusted, or is for another host', async () => {
    const before = receiver.requests.length;
    const plain = makePoster({ ca: undefined });
    expect(await plain.post(request())).toEqual(failed('the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)'));
    const resolve = async () => ['127.0.0.1'];
    const guard = createGuard({ allowedBlocks: ['127.0.0.1'], ports: [receiver.port], resolve });
    const other = await makePoster({ guard }).post({ ...request(), url: `https://example.com:${receiver.port}/` });
    expect(other).toEqual(failed('the certificate is not valid (ERR_TLS_CERT_ALTNAME_INVALID)'));
    expect(receiver.requests.length).toBe(before);
  });

  test('a port that is not allowed, and plain HTTP', async () => {
    const elsewhere = makePoster({ guard: createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [443] }) });
    expect(await elsewhere.post(request())).toEqual(failed('the URL is not allowed'));
    const http = await poster.post({ ...request(), url: `http://localhost:${receiver.port}/` });
    expect(http).toEqual(failed('the URL is not allowed'));
  });

  test('a closed port', async () => {
    const gone = await startReceiver();
    await gone[Symbol.asyncDispose]();
    const guard = createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [gone.port] });
    const result = await makePoster({ guard }).post({ ...request(), url: gone.url });
    expect(result).toEqual(failed('the connection was refused'));
  });
});
