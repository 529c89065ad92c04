import { createServer } from 'node:http';
import { fc } from '@fast-check/vitest';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { AGENT, NUMBER, startRbm, until } from '../../test/support/carriers/rcs-harness.ts';
import { createHttpClient, type HttpAnswer, type HttpClient } from '../channels/http-client.ts';
import { type ReadCallback, readRcsCallback } from '../channels/rcs/callbacks.ts';
import { createAssertions } from '../channels/rcs/client.ts';
import { getMember, parseJson } from '../channels/settings.ts';
import { faultOfMessage } from './rbm-messages.ts';
import type { SandboxRbm } from './rbm-server.ts';

let http: HttpClient;
let rbm: SandboxRbm;
let token: string;

beforeEach(async () => {
  http = createHttpClient({ connections: 10, connectTimeoutMs: 5000, timeoutMs: 10_000 });
  onTestFinished(() => http.close());
  rbm = await startRbm();
  token = String(getMember(bodyOf(await grant(createAssertions(rbm.secrets)())), 'access_token'));
});

function grant(assertion: string, grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'): Promise<HttpAnswer> {
  const body = new URLSearchParams({ grant_type: grantType, assertion }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return http.request({ method: 'POST', origin: rbm.baseUrl, path: '/token', headers, body });
}

const statusOf = (answer: HttpAnswer): number => (answer.kind === 'answered' ? answer.status : 0);
const bodyOf = (answer: HttpAnswer): unknown =>
  answer.kind === 'answered' ? parseJson(answer.body.toString()) : undefined;

function call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<HttpAnswer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const octets = body === undefined ? {} : { body: JSON.stringify(body) };
  return http.request({ method, origin: rbm.baseUrl, path, headers, ...octets });
}

const TEXT = { contentMessage: { text: 'Hello' } };
const send = (message: unknown, messageId: string = crypto.randomUUID(), number = NUMBER): Promise<HttpAnswer> =>
  call('POST', `/v1/phones/${number}/agentMessages?messageId=${messageId}&agentId=${AGENT}`, message);

describe('tokens', () => {
  test('are issued for an assertion of the service account, and are accepted', async () => {
    const answer = await grant(createAssertions(rbm.secrets)());
    expect(bodyOf(answer)).toMatchObject({ token_type: 'Bearer', expires_in: 3599 });
    expect(statusOf(await send(TEXT))).toBe(200);
  });

  test.each([
    ['another account', () => createAssertions({ ...rbm.secrets, clientEmail: 'x@y.invalid' })()],
    ['another key id', () => createAssertions({ ...rbm.secrets, privateKeyId: 'other' })()],
    ['another audience', () => createAssertions({ ...rbm.secrets, tokenUri: 'https://other.example/token' })()],
    ['an old assertion', () => createAssertions(rbm.secrets)(Date.now() - 7_200_000)],
    ['an assertion of tomorrow', () => createAssertions(rbm.secrets)(Date.now() + 86_400_000)],
    ['a broken signature', () => `${createAssertions(rbm.secrets)().slice(0, -8)}AAAAAAAA`],
    ['nothing', () => ''],
  ])('are not issued for %s', async (_, assertion) => {
    const answer = await grant(assertion());
    expect([statusOf(answer), getMember(bodyOf(answer), 'error')]).toEqual([400, 'invalid_grant']);
  });

  test('that are expired or unknown are refused', async () => {
    rbm.revokeTokens();
    const answer = await send(TEXT);
    expect([statusOf(answer), bodyOf(answer)]).toMatchObject([401, { error: { status: 'UNAUTHENTICATED' } }]);
  });
});

describe('messages', () => {
  test('get their name', async () => {
    const messageId = crypto.randomUUID();
    const name = `phones/${NUMBER}/agentMessages/${messageId}`;
    expect(bodyOf(await send(TEXT, messageId))).toMatchObject({ name, sendTime: expect.stringMatching(/Z$/) });
  });

  test('with a used id get the same response and have no effect', async () => {
    const messageId = crypto.randomUUID();
    await send(TEXT, messageId);
    expect(statusOf(await send({ contentMessage: { text: 'Another' } }, messageId))).toBe(200);
    expect(rbm.ledger.messages()).toMatchObject([{ message: TEXT, repeats: 1 }]);
  });

  test('need a UUID, a number in E.164 and an agent of the account', async () => {
    expect(statusOf(await send(TEXT, 'no-uuid'))).toBe(400);
    expect(statusOf(await send(TEXT, undefined, '912345678'))).toBe(400);
    const path = `/v1/phones/%2B351912345678/agentMessages?messageId=${crypto.randomUUID()}&agentId=`;
    expect(statusOf(await call('POST', `${path}other@rbm.goog`, TEXT))).toBe(403);
    expect(statusOf(await call('POST', `${path}${AGENT}`, TEXT))).toBe(200);
  });

  test('may name their agent with or without @rbm.goog', async () => {
    const path = `/v1/phones/${NUMBER}/agentMessages?messageId=${crypto.randomUUID()}&agentId=sandbox`;
    expect(statusOf(await call('POST', path, TEXT))).toBe(200);
    expect(rbm.ledger.messages()).toMatchObject([{ agentId: AGENT }]);
  });

  test('from an agent that is not launched reach only its testers', async () => {
    rbm.script.unlaunched = [AGENT];
    expect(statusOf(await send(TEXT))).toBe(403);
    expect(statusOf(await call('POST', `/v1/phones/${NUMBER}/testers?agentId=${AGENT}`, {}))).toBe(200);
    expect(statusOf(await send(TEXT))).toBe(200);
  });

  test('beyond the rate of the agent get 429', async () => {
    rbm.script.tps = 0.01;
    const statuses = [statusOf(await send(TEXT)), statusOf(await send(TEXT))];
    expect(statuses).toEqual([200, 429]);
  });

  test('may contain only uploaded files', async () => {
    const fileUrl = 'https://cdn.example/a.pdf';
    const fileName = getMember(bodyOf(await call('POST', `/v1/files?agentId=${AGENT}`, { fileUrl })), 'name');
    expect(statusOf(await send({ contentMessage: { uploadedRbmFile: { fileName } } }))).toBe(200);
    expect(statusOf(await send({ contentMessage: { uploadedRbmFile: { fileName: 'files/unknown' } } }))).toBe(400);
  });

  test('to a number that refuses three times are accepted the fourth time', async () => {
    const statuses: number[] = [];
    for (let tries = 0; tries < 4; tries += 1) statuses.push(statusOf(await send(TEXT, undefined, '+351912349910')));
    expect(statuses).toEqual([429, 429, 429, 200]);
  });
});

const reply = { reply: { text: 'OK', postbackData: 'ok_1' } };
const act = (members: object): object => ({ action: { text: 'Do', postbackData: 'do', ...members } });
const card = { title: 'A', description: 'B' };
const standalone = (cardContent: object, more: object = {}): object => ({
  richCard: { standaloneCard: { cardOrientation: 'VERTICAL', cardContent, ...more } },
});
const carousel = (cardContents: object[]): object => ({
  richCard: { carouselCard: { cardWidth: 'MEDIUM', cardContents } },
});
const media = { height: 'SHORT', contentInfo: { fileUrl: 'https://cdn.example/a.jpg', forceRefresh: false } };
const faultIn = (contentMessage: unknown, more: object = {}): string | undefined =>
  faultOfMessage({ contentMessage, ...more }, Date.now())?.text;

describe('the format of a message', () => {
  test.each([
    { text: 'x'.repeat(3072), suggestions: Array(11).fill(reply) },
    { text: '😀'.repeat(3072) },
    { contentInfo: { fileUrl: 'https://cdn.example/a.pdf', thumbnailUrl: 'https://cdn.example/t.jpg' } },
    standalone({ ...card, media, suggestions: Array(4).fill(reply) }),
    standalone({ media }, { cardOrientation: 'HORIZONTAL', thumbnailImageAlignment: 'LEFT' }),
    carousel([card, { ...card, media }]),
    { text: 'a', suggestions: [act({ dialAction: { phoneNumber: '+351210000000' } })] },
    {
      text: 'a',
      suggestions: [
        act({ openUrlAction: { url: 'https://x.example', application: 'WEBVIEW', webviewViewMode: 'HALF' } }),
      ],
    },
    {
      text: 'a',
      suggestions: [act({ viewLocationAction: { latLong: { latitude: 38.72, longitude: -9.14 }, label: 'Shop' } })],
    },
    {
      text: 'a',
      suggestions: [
        act({
          createCalendarEventAction: {
            startTime: '2026-05-01T10:00:00Z',
            endTime: '2026-05-01T11:00:00Z',
            title: 'Visit',
          },
        }),
      ],
    },
    { text: 'a', suggestions: [act({ shareLocationAction: {}, fallbackUrl: 'https://x.example' })] },
  ])('passes: %j', (contentMessage) => {
    expect(faultIn(contentMessage)).toBeUndefined();
  });

  test.each([
    [{}, 'exactly one of'],
    [{ text: 'a', contentInfo: { fileUrl: 'https://cdn.example/a.pdf' } }, 'exactly one of'],
    [{ text: '' }, 'must not be empty'],
    [{ text: 'x'.repeat(3073) }, 'longer than 3072'],
    [{ text: 5 }, 'TYPE_STRING'],
    [{ text: 'a', colour: 'red' }, 'Unknown name "colour" at \'agent_message.content_message\': Cannot find field.'],
    [{ text: 'a', __proto__x: 1 }, 'Unknown name'],
    [{ text: 'a', suggestions: Array(12).fill(reply) }, '0 to 11 items'],
    [{ text: 'a', suggestions: [{ reply: { text: 'x'.repeat(26), postbackData: 'a' } }] }, 'longer than 25'],
    [{ text: 'a', suggestions: [{ reply: { text: 'a', postbackData: 'x'.repeat(2049) } }] }, 'longer than 2048'],
    [{ text: 'a', suggestions: [{ ...reply, ...act({ shareLocationAction: {} }) }] }, 'exactly one of'],
    [{ text: 'a', suggestions: [act({})] }, 'exactly one of'],
    [{ text: 'a', suggestions: [act({ dialAction: { phoneNumber: '210000000' } })] }, 'Invalid value'],
    [{ text: 'a', suggestions: [act({ openUrlAction: { url: 'javascript:1' } })] }, 'not a valid URL'],
    [{ contentInfo: { fileUrl: 'a.pdf' } }, 'not a valid URL'],
    [standalone({}), 'at least one of'],
    [standalone({ title: 'x'.repeat(201) }), 'longer than 200'],
    [standalone({ description: 'x'.repeat(2001) }), 'longer than 2000'],
    [standalone({ ...card, suggestions: Array(5).fill(reply) }), '0 to 4 items'],
    [standalone(card, { cardOrientation: 'DIAGONAL' }), 'Invalid value'],
    [standalone({ media: { contentInfo: media.contentInfo } }), 'height is required'],
    [carousel([card]), '2 to 10 items'],
    [carousel(Array(11).fill(card)), '2 to 10 items'],
  ])('is refused: %j', (contentMessage, why) => {
    expect(faultIn(contentMessage)).toContain(why);
  });

  test.each([
    [{ ttl: '60s', expireTime: '2030-01-01T00:00:00Z' }, 'only one of'],
    [{ ttl: '1296001s' }, '15 days'],
    [{ ttl: '0s' }, '15 days'],
    [{ ttl: 60 }, 'Invalid value'],
    [{ ttl: '1.0000000001s' }, 'Invalid value'],
    [{ expireTime: '2020-01-01T00:00:00Z' }, '15 days'],
    [{ messageTrafficType: 'SPAM' }, 'Invalid value'],
    [{ agentId: 'a' }, 'Unknown name "agentId"'],
  ])('is refused with %j', (more, why) => {
    expect(faultIn({ text: 'a' }, more)).toContain(why);
  });

  test('is validated without an error, whatever it is', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(faultOfMessage({ contentMessage: JSON.parse(text) }, 0)?.name).toBe('INVALID_ARGUMENT');
        expect(faultOfMessage(JSON.parse(text), 0)?.name).toBe('INVALID_ARGUMENT');
      }),
    );
  });
});

describe('other requests', () => {
  const capabilities = (number: string, requestId: string = crypto.randomUUID()): Promise<HttpAnswer> =>
    call('GET', `/v1/phones/${number}/capabilities?requestId=${requestId}&agentId=${AGENT}`);

  test('capabilities are those of the handset, or 404', async () => {
    expect(getMember(bodyOf(await capabilities(NUMBER)), 'features')).toContain('RICHCARD_CAROUSEL');
    expect(bodyOf(await capabilities('+351912349901'))).toEqual({ features: [] });
    expect(statusOf(await capabilities('+351912340007'))).toBe(404);
    expect(statusOf(await capabilities(NUMBER, '1'))).toBe(400);
  });

  test('a batch needs 500 different numbers', async () => {
    const users = Array.from({ length: 500 }, (_, index) => `+351912340${String(index).padStart(3, '0')}`);
    const answer = bodyOf(await call('POST', '/v1/users:batchGet', { users, agentId: AGENT }));
    expect(getMember(answer, 'reachableUsers')).toHaveLength(499);
    expect(statusOf(await call('POST', '/v1/users:batchGet', { users: users.slice(1), agentId: AGENT }))).toBe(400);
    const doubled = [...users.slice(1), users[1]];
    expect(statusOf(await call('POST', '/v1/users:batchGet', { users: doubled, agentId: AGENT }))).toBe(400);
  });

  test('agent events must be READ with a message, or IS_TYPING', async () => {
    const path = `/v1/phones/${NUMBER}/agentEvents?eventId=${crypto.randomUUID()}&agentId=${AGENT}`;
    expect(statusOf(await call('POST', path, { eventType: 'IS_TYPING' }))).toBe(200);
    expect(statusOf(await call('POST', path, { eventType: 'READ', messageId: 'm' }))).toBe(200);
    expect(statusOf(await call('POST', path, { eventType: 'READ' }))).toBe(400);
  });

  test('any other path is not found', async () => {
    expect(statusOf(await call('GET', '/v2/anything'))).toBe(404);
    expect(statusOf(await call('GET', `/v1/phones/${NUMBER}/agentMessages/1?agentId=${AGENT}`))).toBe(404);
  });

  test('a delivered message cannot be revoked, except as the reference page describes it', async () => {
    rbm.script.otherwise = { steps: [{ event: 'DELIVERED', afterMs: 0 }] };
    const messageId = crypto.randomUUID();
    await send(TEXT, messageId);
    await until(() => rbm.ledger.messages()[0]?.delivered === true);
    const path = `/v1/phones/${NUMBER}/agentMessages/${messageId}?agentId=${AGENT}`;
    expect(statusOf(await call('DELETE', path))).toBe(404);
    rbm.script.revoke = 'reference';
    expect(statusOf(await call('DELETE', path))).toBe(200);
  });
});

type Receiver = { readonly url: string; readonly heard: ReadCallback[]; status: number };

/** Starts a well-behaved callback address of a client: it reads every request and returns 200. */
async function receive(): Promise<Receiver> {
  const receiver = { url: '', heard: [] as ReadCallback[], status: 200 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const signature = String(request.headers['x-goog-signature']);
      const { clientToken } = rbm.secrets;
      const callback = readRcsCallback({ rawBody: Buffer.concat(chunks), signature, clientToken });
      receiver.heard.push(callback);
      response.writeHead(receiver.status).end(callback.kind === 'handshake' ? callback.text : '');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  receiver.url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/rcs`;
  return receiver;
}

async function registered(): Promise<Receiver> {
  const receiver = await receive();
  expect(await rbm.setCallback(receiver.url)).toBe(true);
  receiver.heard.length = 0;
  return receiver;
}

const receiptsOf = ({ heard }: Receiver): string[] =>
  heard.flatMap((callback) => (callback.kind === 'events' ? callback.receipts.map(({ state }) => state) : []));

describe('callbacks', () => {
  test('go only to a URL that responds to the handshake with the secret', async () => {
    rbm.script.callbackMaxTries = 1;
    const server = createServer((_, response) => void response.end('ok'));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await rbm.setCallback(`http://127.0.0.1:${port}/`)).toBe(false);
    expect(await rbm.injectUser({ from: NUMBER, text: 'Hi' })).toBe(false);
  });

  test.each([
    ['0006', ['DELIVERED', 'READ']],
    ['0002', ['EXPIRED']],
    ['9904', ['READ']],
    ['9906', ['DELIVERED', 'DELIVERED', 'READ', 'READ']],
    ['9907', ['READ', 'DELIVERED']],
  ])('for a number that ends in %s are %j, signed', async (end, states) => {
    const receiver = await registered();
    rbm.script.callbackConcurrency = 1;
    const steps = rbm.script.outcomes[end]?.steps ?? [];
    const fast = steps.map((step) => ({ ...step, afterMs: step.afterMs / 20 }));
    rbm.script.outcomes = { [end]: { ...rbm.script.outcomes[end], steps: fast } };
    await send(TEXT, undefined, `+35191234${end}`);
    await until(() => receiptsOf(receiver).length >= states.length);
    expect(receiptsOf(receiver)).toEqual(states);
  });

  test('with an early event are sent before the response', async () => {
    const receiver = await registered();
    await send(TEXT, undefined, '+351912349905');
    expect(receiptsOf(receiver)).toEqual(['DELIVERED']);
  });

  test('are repeated until they get 200', async () => {
    const receiver = await registered();
    rbm.script.callbackRetryMs = 5;
    receiver.status = 500;
    const told = rbm.injectUser({ from: NUMBER, text: 'Hi' });
    await until(() => receiver.heard.length >= 2);
    receiver.status = 200;
    expect(await told).toBe(true);
    expect(rbm.ledger.events()).toMatchObject([{ kind: 'inbound', tries: receiver.heard.length, result: 'acked' }]);
  });

  test('stop when the message is revoked', async () => {
    const receiver = await registered();
    rbm.script.otherwise = { steps: [{ event: 'DELIVERED', afterMs: 300 }] };
    const messageId = crypto.randomUUID();
    await send(TEXT, messageId);
    expect(statusOf(await call('DELETE', `/v1/phones/${NUMBER}/agentMessages/${messageId}?agentId=${AGENT}`))).toBe(
      200,
    );
    await until(() => rbm.waiting() === 0);
    expect(receiptsOf(receiver)).toEqual([]);
    expect(rbm.ledger.messages()).toMatchObject([{ revoked: true, delivered: false }]);
  });

  test('continue for messages that an earlier simulator left open', async () => {
    const receiver = await registered();
    rbm.script.otherwise = { steps: [{ event: 'DELIVERED', afterMs: 0 }] };
    const messageId = crypto.randomUUID();
    rbm.resume([{ messageId, agentId: AGENT, destination: NUMBER }]);
    await until(() => receiptsOf(receiver).length > 0);
    expect(receiver.heard).toMatchObject([{ receipts: [{ state: 'DELIVERED', carrierIds: [messageId] }] }]);
    expect(statusOf(await send(TEXT, messageId))).toBe(200);
    expect(rbm.ledger.counts()).toMatchObject({ accepted: 0, repeats: 1 });
  });

  test('report the actions of a person', async () => {
    const receiver = await registered();
    const file = { mimeType: 'image/png', fileName: 'a.png', bytes: Buffer.from('png') };
    expect(await rbm.injectUser({ from: NUMBER, file })).toBe(true);
    expect(await rbm.injectUser({ from: NUMBER, tap: { text: 'OK', postbackData: 'ok' } })).toBe(true);
    expect(await rbm.injectUser({ from: NUMBER, event: 'UNSUBSCRIBE' })).toBe(true);
    expect(await rbm.changeLaunch({ agentId: AGENT, from: 'PENDING', to: 'LAUNCHED' })).toBe(true);
    const [image, tap, stop, launch] = receiver.heard;
    expect(tap).toMatchObject({ inbounds: [{ text: 'OK', rich: { messageType: 'BUTTON' } }] });
    expect(stop).toMatchObject({ subscriptions: [{ subscribed: false }] });
    expect(launch).toMatchObject({ launches: [{ state: 'LAUNCHED' }] });
    const url = image?.kind === 'events' ? image.inbounds[0]?.rich?.media?.url : null;
    const { origin, pathname } = new URL(url ?? '');
    const served = await http.request({ method: 'GET', origin, path: pathname, headers: {} });
    expect(served).toMatchObject({ status: 200, headers: { 'content-type': 'image/png' } });
  });
});
