import { expect, onTestFinished, test } from 'vitest';
import { type ConformancePeer, carrierConformance } from '../../../test/support/carriers/conformance.ts';
import { carrierFacing, FAST, message, SHORT } from '../../../test/support/carriers/http-sms-harness.ts';
import { createTestHost, until } from '../../../test/support/carriers/smpp-harness.ts';
import { type SandboxAnswer, startServer } from '../../sandbox/http-server.ts';
import { createHttpSmsCarrier } from './carrier.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings } from './settings.ts';

const PROTOCOL = {
  request: {
    path: '/sms',
    auth: 'bearer',
    body: { to: '{{toDigits}}', from: '{{from}}', text: '{{text}}', ref: '{{messageId}}' },
  },
  answer: { id: '/id', code: '/error/code', text: '/error/text' },
};
const SECRETS = parseHttpSmsSecrets({ apiKey: 'secret-key', callbackToken: 'our-callback-token' });

type Peer = ConformancePeer & { readonly url: string };
type Behaviour = Parameters<ConformancePeer['behave']>[0];

const ANSWERS: Readonly<Record<Exclude<Behaviour, 'accept'>, SandboxAnswer>> = {
  refuse: { status: 400, body: { error: { code: 17, text: 'no such number' } } },
  busy: { status: 429, body: {} },
  silent: 'silent',
};

async function startPeer(): Promise<Peer> {
  const seen: string[] = [];
  let how: Behaviour = 'accept';
  const server = await startServer({
    maxBytes: 10_000,
    handle({ method, body }) {
      if (method === 'GET') return { status: 404, body: 'Not here' };
      seen.push(String(JSON.parse(body.toString()).to));
      return how === 'accept' ? { status: 201, body: { id: `id-${seen.length}` } } : ANSWERS[how];
    },
  });
  return {
    url: server.url,
    behave(next) {
      how = next;
    },
    seen: () => seen,
    cut: server.cut,
    close: server.close,
  };
}

carrierConformance({
  name: 'HTTP with a server that responds as settings describe',
  startPeer,
  makeCarrier: ({ url }) =>
    createHttpSmsCarrier(
      parseHttpSmsSettings({ baseUrl: url, ...SHORT, ...PROTOCOL }),
      SECRETS,
      { callbackUrl: null },
      FAST,
    ),
});

test('a server error is an unknown outcome, and nothing is sent a second time', async () => {
  const { carrier, sent } = await carrierFacing(PROTOCOL, () => ({ status: 502, body: 'Bad Gateway' }));
  expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown', text: expect.stringContaining('502') });
  await until(() => carrier.room() > 0);
  expect(sent).toHaveLength(1);
});

test('an acceptance without the id that is expected is an unknown outcome', async () => {
  const { carrier } = await carrierFacing(PROTOCOL, () => ({ status: 200, body: {} }));
  expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown' });
});

test('a carrier that recognises repeats gets the same bytes again until a response resolves the doubt', async () => {
  const answers: SandboxAnswer[] = ['cut', { status: 503, body: '' }, { status: 201, body: { id: 'a' } }];
  const settings = { ...PROTOCOL, request: { ...PROTOCOL.request, idempotent: true } };
  const { carrier, sent } = await carrierFacing(settings, () => answers.shift() ?? 'cut');
  expect(await carrier.submit(message({ validUntil: new Date(Date.now() + 60_000) }))).toEqual({
    kind: 'accepted',
    carrierIds: ['a'],
  });
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ body }) => body.toString())).size).toBe(1);
});

test('a message in doubt is not returned as not taken when its repeat is throttled', async () => {
  const answers: SandboxAnswer[] = ['silent', { status: 429, body: '' }, { status: 429, body: '' }];
  const settings = { ...PROTOCOL, request: { ...PROTOCOL.request, idempotent: true } };
  const { carrier, sent } = await carrierFacing(settings, () => answers.shift() ?? { status: 500, body: '' });
  expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown', carrierIds: [message().messageId] });
  expect(sent).toHaveLength(3);
});

test.each([
  ['a wrong path, which a proxy may say, too', 404],
  ['a message that the carrier has already', 409],
])('a message in doubt is not refused when its repeat gets %s', async (_, status) => {
  const answers: SandboxAnswer[] = ['cut', { status, body: '' }, { status, body: '' }];
  const settings = { ...PROTOCOL, request: { ...PROTOCOL.request, idempotent: true } };
  const { carrier, sent } = await carrierFacing(settings, () => answers.shift() ?? { status: 500, body: '' });
  expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown', carrierIds: [message().messageId] });
  expect(sent).toHaveLength(3);
});

test('a message in doubt is refused when its repeat is refused for what is in it', async () => {
  const answers: SandboxAnswer[] = ['cut', ANSWERS.refuse];
  const settings = { ...PROTOCOL, request: { ...PROTOCOL.request, idempotent: true } };
  const { carrier } = await carrierFacing(settings, () => answers.shift() ?? 'cut');
  expect(await carrier.submit(message())).toEqual({
    kind: 'refused',
    status: 'REJECTED',
    elsewhere: false,
    code: '17',
    text: 'no such number',
    carrierIds: [],
  });
});

test('an error of a carrier that repeats our request reveals no secret', async () => {
  const { carrier, sent } = await carrierFacing(
    { ...PROTOCOL, request: { ...PROTOCOL.request, query: { key: '{{apiKey}}' } } },
    (request) => ({ status: 400, body: `No: ${request.query} ${request.headers.authorization}` }),
    { apiKey: 'se/cret+key' },
  );
  const outcome = await carrier.submit(message());
  expect(sent[0]?.query.get('key')).toBe('se/cret+key');
  expect(outcome).toMatchObject({ kind: 'refused', text: expect.stringContaining('Bearer <apiKey>') });
  expect(JSON.stringify(outcome)).not.toMatch(/cret/);
});

test('a pause that the carrier asks for is kept', async () => {
  const { carrier } = await carrierFacing(PROTOCOL, () => ({ status: 429, headers: { 'retry-after': '7' }, body: '' }));
  expect(await carrier.submit(message())).toMatchObject({ kind: 'retry', counts: false, code: 'HTTP_429' });
  expect(carrier.room()).toBe(0);
});

test('refused credentials close the connection with a fault until they are accepted again', async () => {
  let valid = false;
  const { carrier } = await carrierFacing(PROTOCOL, () =>
    valid ? { status: 200, body: { id: '1' } } : { status: 401, body: { error: { code: 1, text: 'bad key' } } },
  );
  expect(await carrier.submit(message())).toMatchObject({ kind: 'retry', counts: false, afterMs: FAST.refusedMs });
  expect(carrier.state()).toMatchObject({ up: false, fault: '1 bad key' });
  valid = true;
  await until(() => carrier.room() > 0);
  expect(await carrier.submit(message())).toMatchObject({ kind: 'accepted' });
});

test('rules say what the codes of a carrier mean, and which refusals another carrier may take', async () => {
  const rules = [
    { status: '200', is: ['9'], outcome: 'refused', elsewhere: true },
    { status: '200', is: ['6'], outcome: 'refused', as: 'UNDELIVERABLE' },
    { status: '200', is: ['5'], outcome: 'later' },
    { status: '5xx', outcome: 'unavailable' },
  ];
  let answer: SandboxAnswer = { status: 200, body: { error: { code: 9, text: 'no credit' } } };
  const settings = { ...PROTOCOL, answer: { ...PROTOCOL.answer, rules } };
  const { carrier } = await carrierFacing(settings, () => answer);
  const ask = () => carrier.submit(message());
  expect(await ask()).toMatchObject({
    kind: 'refused',
    elsewhere: true,
    status: 'REJECTED',
    code: '9',
    text: 'no credit',
  });
  answer = { status: 200, body: { error: { code: '6' } } };
  expect(await ask()).toMatchObject({ kind: 'refused', elsewhere: false, status: 'UNDELIVERABLE' });
  answer = { status: 200, body: { error: { code: 5 } } };
  expect(await ask()).toMatchObject({ kind: 'retry', counts: true });
  answer = { status: 503, body: '' };
  expect(await ask()).toMatchObject({ kind: 'retry', counts: false });
  expect(carrier.room()).toBe(0);
});

test('each part of a long message has its id where the carrier names them all', async () => {
  const settings = { ...PROTOCOL, answer: { id: '/messages/*/id' } };
  const { carrier } = await carrierFacing(settings, () => ({
    status: 200,
    body: { messages: [{ id: 'a' }, { id: 'b' }] },
  }));
  expect(await carrier.submit(message())).toEqual({ kind: 'accepted', carrierIds: ['a', 'b'] });
});

test('what is no text is refused and not sent', async () => {
  const { carrier, sent } = await carrierFacing(PROTOCOL, () => ({ status: 200, body: { id: '1' } }));
  const binary = { udh: Buffer.alloc(0), data: Buffer.from([1]) };
  expect(await carrier.submit(message({ body: '', binary }))).toMatchObject({ kind: 'refused', elsewhere: true });
  expect(sent).toEqual([]);
});

test('an address that webhooks may not be posted to is not dialled', async () => {
  const server = await startServer({ maxBytes: 1000, handle: () => ({ status: 200, body: {} }) });
  const host = createTestHost();
  const carrier = createHttpSmsCarrier(
    parseHttpSmsSettings({ baseUrl: server.url, ...PROTOCOL }),
    SECRETS,
    { callbackUrl: null, isAllowed: () => false },
    FAST,
  );
  onTestFinished(async () => {
    await carrier.stop(0);
    await server.close();
  });
  carrier.start(host);
  await until(() => host.failures.length > 0);
  expect(host.failures[0]).toContain('non-public');
  expect(carrier.room()).toBe(0);
});
