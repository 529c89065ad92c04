import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { createHeliograph, type Heliograph, HeliographError } from './index.ts';

const SEND = '/api/message-server/sms/send';
const CONTACTS = '/api/partner-gateway/v1/contacts';
const HISTORY = '/api/partner-gateway/v1/messages/history';

let program: TestProgram;
let heliograph: Heliograph;
beforeAll(async () => {
  program = await startTestProgram();
  heliograph = createHeliograph({ baseUrl: program.origin(), apiKey: program.account.apiKey });
});
afterAll(() => program[Symbol.asyncDispose]());

const failure = async (failing: Promise<unknown>): Promise<HeliographError> => {
  const error = await failing.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof HeliographError)) throw new Error(`expected a HeliographError, not ${String(error)}`);
  return error;
};

test('sends a message and follows it to its end, with a key or with user name and password', async () => {
  const { username, password } = program.account;
  const person = createHeliograph({ baseUrl: `${program.origin()}/`, username, password });
  const sent = await person.post(SEND, { body: { phoneNumber: '+393331234567', message: 'Hello' } });
  const path = { customerMessageId: sent.messageId ?? '' };
  const status = await until('DELIVERED', async () => {
    const record = await heliograph.get('/api/partner-gateway/v1/messages/status/{customerMessageId}', {
      params: { path },
    });
    return record.deliveryStatus === 'DELIVERED' && record;
  });
  expect(status).toMatchObject({ messageId: sent.messageId, channel: 'SMS', destination: '+393331234567' });
});

test('reads a list to its end, whatever the page size, and no further than requested', async () => {
  const names = ['Ada', 'Bea', 'Cleo', 'Dora'];
  for (const [n, firstName] of names.entries())
    await heliograph.post(CONTACTS, { body: { phoneNumber: `+39333000001${n}`, firstName } });
  const walked = async (limit: number): Promise<(string | null)[]> => {
    const found: (string | null)[] = [];
    for await (const contact of heliograph.each(CONTACTS, { params: { query: { limit } } }))
      found.push(contact.firstName);
    return found;
  };
  for (const limit of [1, 3, 4, 1000]) expect(await walked(limit)).toEqual(names);
  const pages: number[] = [];
  for await (const page of heliograph.pages(CONTACTS, { params: { query: { limit: 3 } } })) pages.push(page.length);
  expect(pages).toEqual([3, 1]);

  let asked = 0;
  const counting = createHeliograph({
    baseUrl: program.origin(),
    apiKey: program.account.apiKey,
    fetch: (request) => (asked++, fetch(request)),
  });
  for await (const { firstName } of counting.each(CONTACTS, { params: { query: { limit: 2 } } }))
    if (firstName === 'Bea') break;
  expect(asked).toBe(1);
});

test('yields no page of an empty list, and no item for a filter without a match', async () => {
  const query = { search: 'nobody is called this' };
  for await (const page of heliograph.pages(CONTACTS, { params: { query } })) expect(page).toBe('not there');
});

test('names status, request and every invalid field of a failure, without a retry', async () => {
  const error = await failure(heliograph.post(SEND, { body: { phoneNumber: '12', message: '' } }));
  expect(error).toMatchObject({ status: 400, attempts: 1, retryAfterSeconds: null });
  expect(error.details.map(({ field }) => field).toSorted()).toEqual(['message', 'phoneNumber']);
  expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);

  const unknown = await failure(heliograph.get(`${CONTACTS}/{id}`, { params: { path: { id: 999_999 } } }));
  expect(unknown).toMatchObject({ status: 404, message: 'Not found', details: [] });
  const stranger = createHeliograph({ baseUrl: program.origin(), apiKey: 'pg_live_nobody' });
  expect(await failure(stranger.get(CONTACTS))).toMatchObject({
    status: 401,
    message: 'Missing or invalid credentials',
  });
  const bulk = await failure(heliograph.post('/services/sms/send', { body: { messages: [] } }));
  expect(bulk).toMatchObject({ status: 400, message: expect.stringContaining('messages') });
});

test('returns undefined for a response without a body', async () => {
  const { id } = await heliograph.post('/api/partner-gateway/v1/authentication', { body: { name: 'short-lived' } });
  const answer = await heliograph.delete('/api/partner-gateway/v1/authentication/{id}', { params: { path: { id } } });
  expect(answer).toBeUndefined();
});

test('uploads a file as a form, with its other fields', async () => {
  const file = new File(['Phone;Name\n+393335550001;Zoe Verdi\n+39333;Bert\n'], 'people.csv');
  const answer = await heliograph.post(`${CONTACTS}/upload`, { body: { file, dryRun: true, limit: 1 } });
  expect(answer).toMatchObject({ dryRun: true, summary: { created: 1, errors: 1 } });
});

/** Starts a relay in front of the program that forwards requests and cuts the connection on the next response. */
async function startCutter() {
  const { port: target } = new URL(program.origin());
  let keep: ((answer: Buffer) => Buffer) | null = null;
  let cuts = 0;
  const relay = net.createServer((client) => {
    const server = net.connect(Number(target), '127.0.0.1');
    const end = (): void => void (client.destroy(), server.destroy());
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.pipe(server);
    server.on('data', (answer: Buffer) => {
      if (!keep) return void client.write(answer);
      const rest = keep(answer);
      [keep, cuts] = [null, cuts + 1];
      client.write(rest, end);
    });
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  onTestFinished(() => void relay.close());
  const address = relay.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    cutNext: (part: (answer: Buffer) => Buffer) => void (keep = part),
    cuts: () => cuts,
  };
}

test.each([
  { moment: 'before its response', part: () => Buffer.alloc(0) },
  { moment: 'in the middle of its response', part: (answer: Buffer) => answer.subarray(0, -10) },
])('retries a send whose connection is lost $moment, which is done once', async ({ part }) => {
  const from = new Date().toISOString();
  const cutter = await startCutter();
  const client = createHeliograph({ baseUrl: cutter.origin, apiKey: program.account.apiKey });
  cutter.cutNext(part);
  const { messageId } = await client.post(SEND, { body: { phoneNumber: '+393331234568', message: 'Once' } });
  expect(cutter.cuts()).toBe(1);
  const query = { channel: 'SMS', from, to: new Date(Date.now() + 60_000).toISOString() } as const;
  const found: string[] = [];
  for await (const message of heliograph.each(HISTORY, { params: { query } })) found.push(message.messageId);
  expect(found).toEqual([messageId]);
});

test("replays the first response for the caller's own key", async () => {
  const send = () =>
    heliograph.post(SEND, {
      headers: { 'Idempotency-Key': 'order-77' },
      body: { phoneNumber: '+393331234569', message: 'Your order' },
    });
  const first = await send();
  expect(await send()).toEqual(first);
});

test('reports a server that does not listen, with the number of attempts', async () => {
  const door = net.createServer().listen(0, '127.0.0.1');
  await once(door, 'listening');
  const { port } = Object(door.address());
  door.close();
  await once(door, 'close');
  const nobody = createHeliograph({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'x', retries: 1 });
  const error = await failure(nobody.get(CONTACTS));
  expect(error).toMatchObject({ status: 0, requestId: null, attempts: 2, cause: expect.any(Error) });
  expect(error.message).toContain(`http://127.0.0.1:${port}`);
});
