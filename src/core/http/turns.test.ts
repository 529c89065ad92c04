import net from 'node:net';
import { promisify } from 'node:util';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { openRequest } from '../../../test/support/http/open-request.ts';
import { until } from '../../../test/support/until.ts';
import { authentication } from './auth.ts';
import { createServer } from './server.ts';
import { waitWithoutTurn } from './turns.ts';

const LARGE = JSON.stringify({ text: 'x'.repeat(64 * 1024) });

/** A server whose handlers end when they are released. An API key is the number of its account. */
async function turnsServer() {
  const app = createServer(apiDeps());
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = ({ headers }: { headers: Record<string, unknown> }) =>
    new Promise<object>((resolve) => {
      begun.push(String(headers['x-name']));
      ends.push(() => resolve({}));
    });
  app.register(async (closed) => {
    const authenticate = async ({ headers }: { headers: Record<string, unknown> }) => ({
      actor: { accountId: Number(headers['x-api-key']) } as never,
      headers: {},
    });
    closed.register(authentication, { authenticate });
    closed.post('/messages', work);
    closed.get('/messages', { schema: { querystring: Type.Object({ limit: Type.Optional(Type.Integer()) }) } }, work);
    closed.get('/figures', { config: { takesTurns: true } }, work);
    closed.get('/one', work);
    closed.get('/large', { config: { takesTurns: true } }, async (_request, reply) => {
      begun.push('large');
      return reply.send('x'.repeat(30_000_000));
    });
    const grown = new Set<unknown>();
    closed.get('/grows', (request) => {
      const account = request.headers['x-api-key'];
      if (grown.has(account)) return work(request);
      grown.add(account);
      return { text: 'x'.repeat(64 * 1024) };
    });
    closed.get('/stream', { config: { takesTurns: true } }, (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write('begun');
    });
    closed.get('/events', { config: { takesTurns: true } }, async (request) => {
      await waitWithoutTurn(request, async () => void (await work(request)));
      begun.push(`${String(request.headers['x-name'])} again`);
      return {};
    });
    const schema = { body: Type.Object({ number: Type.Number() }) };
    closed.post('/numbers', { schema }, () => ({}));
  });
  const server = await listening(app);
  onTestFinished(async () => {
    for (const end of ends) end();
    await server[Symbol.asyncDispose]();
  });
  const begin = async (name: string, path = 'POST /messages', body = LARGE) => {
    const [method] = path.split(' ');
    const head = `${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${name.charCodeAt(0)}\r\nX-Name: ${name}\r\n`;
    const content = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const arrived = new Promise((resolve) => app.server.once('request', resolve));
    const request = await openRequest(server.port, head + (method === 'GET' ? '\r\n' : content));
    onTestFinished(() => request.destroy());
    await arrived;
    return request;
  };
  /** Lets the handler that began first end. */
  const endFirst = (): void => ends.shift()?.();
  const connections = promisify(app.server.getConnections.bind(app.server));
  return { begin, begun, endFirst, connections, port: server.port };
}

const THREE = { POST: 'POST /messages', page: 'GET /messages?limit=100', figures: 'GET /figures' } as const;

test.each(Object.values(THREE))(
  '%s: of one account two are worked on, and those of another one at once',
  async (path) => {
    const { begin, begun, endFirst } = await turnsServer();
    for (const name of ['a1', 'a2', 'a3', 'a4']) await begin(name, path);
    await begin('b1', path);
    await until('the other account', () => begun.includes('b1'));
    expect(begun.toSorted()).toEqual(['a1', 'a2', 'b1']);
    endFirst();
    await until('the next one', () => begun.length === 4);
    expect(begun[3]).toBe('a3');
  },
);

test('what is short does not wait for what takes long', async () => {
  const { begin, begun } = await turnsServer();
  for (const name of ['a1', 'a2', 'a3']) await begin(name);
  await begin('a4', 'POST /messages', '{"text":"short"}');
  await begin('a5', 'GET /one');
  await until('both', () => begun.length === 4);
  expect(begun.toSorted()).toEqual(['a1', 'a2', 'a4', 'a5']);
});

test('a client that disconnects while it waits is not worked for, and leaves its turn to the next one', async () => {
  const { begin, begun, endFirst, connections } = await turnsServer();
  await begin('a1');
  await begin('a2');
  const leaving = await begin('a3');
  await begin('a4');
  leaving.destroy();
  await until('the server to see it', async () => (await connections()) === 3);
  endFirst();
  await until('the next one', () => begun.length === 3);
  expect(begun).toEqual(['a1', 'a2', 'a4']);
});

test('a client that disconnects while it is worked for keeps its turn until the work has ended', async () => {
  const { begin, begun, endFirst } = await turnsServer();
  const [first] = [await begin('a1'), await begin('a2')];
  await until('both', () => begun.length === 2);
  first.destroy();
  await begin('a3');
  await begin('b1');
  await until('the other account', () => begun.includes('b1'));
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  endFirst();
  await until('the next one', () => begun.includes('a3'));
});

test('a body that is refused gives its turn back', async () => {
  const { begin } = await turnsServer();
  for (let i = 0; i < 5; i++) {
    const refused = await begin(`a${i}`, 'POST /numbers', LARGE);
    expect(await refused.status()).toBe(400);
  }
});

test('a client that does not read its response keeps no others waiting', async () => {
  const { begin, begun, port } = await turnsServer();
  for (let i = 0; i < 2; i++) {
    const deaf = net.connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void deaf.destroy());
    deaf.write('GET /large HTTP/1.1\r\nHost: a\r\nX-API-Key: 97\r\nX-Name: deaf\r\n\r\n');
  }
  await until('both', () => begun.length === 2);
  await begin('a2', 'GET /large');
  await until('one more large one', () => begun.length === 3);
  await begin('a3');
  await until('the next one', () => begun.length === 4);
});

test('of a route that has given an account a large response, one of its requests is worked on at a time', async () => {
  const { begin, begun, endFirst } = await turnsServer();
  for (const name of ['a0', 'c0']) await (await begin(name, 'GET /grows')).status();
  for (const name of ['a1', 'a2']) await begin(name, 'GET /grows');
  await begin('c1', 'GET /grows');
  await until('another account', () => begun.includes('c1'));
  expect(begun).toEqual(['a1', 'c1']);
  endFirst();
  await until('the next one', () => begun.includes('a2'));
});

test('requests that wait for an event keep no others waiting, and take a turn again after it', async () => {
  const { begin, begun, endFirst } = await turnsServer();
  for (const name of ['a1', 'a2', 'a3', 'a4']) await begin(name, 'GET /events');
  await until('the requests that wait', () => begun.length === 4);
  for (const name of ['a5', 'a6']) await begin(name, 'GET /figures');
  await until('the others', () => begun.length === 6);
  endFirst();
  await begin('b1', 'GET /figures');
  await until('another account', () => begun.includes('b1'));
  expect(begun).not.toContain('a1 again');
  for (let others = 0; others < 4; others++) endFirst();
  await until('the turn after the event', () => begun.includes('a1 again'));
});

test('a stream that is left gives its turn back', async () => {
  const { begin, begun } = await turnsServer();
  const streams = [await begin('a1', 'GET /stream'), await begin('a2', 'GET /stream')];
  for (const stream of streams) expect(await stream.status()).toBe(200);
  await begin('a3');
  for (const stream of streams) stream.destroy();
  await until('the next one', () => begun.includes('a3'));
});
