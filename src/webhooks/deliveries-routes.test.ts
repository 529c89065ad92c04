import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { reset } from '../../test/support/reset.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { sql } from '../core/db/query.ts';

const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';
const LOG = `${WEBHOOK}/deliveries`;

let program: TestProgram;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  const caFile = join(await temporaryFolder('heliograph-ca-'), 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  program = await startTestProgram({
    environment: {
      WEBHOOK_CA_FILE: caFile,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
    },
  });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
beforeEach(async () => {
  receiver.answer({});
  await reset(program.pool, sql`TRUNCATE webhook_delivery, webhook_retry`);
  const body = { callbackUrl: `${receiver.url}/events` };
  expect((await program.client.request('POST', WEBHOOK, { body })).status).toBe(201);
});

type Entry = { id: string; status: string; attempts: number };
type Detail = Entry & { request: { url: string; headers: Record<string, string>; body: string } | null; log: object[] };
async function ask<T>(path: string): Promise<T> {
  const { body } = await program.client.request('GET', path);
  return body as T;
}
const list = (query = ''): Promise<{ data: Entry[]; total: number }> => ask(`${LOG}?limit=100&${query}`);
async function send(): Promise<string> {
  const body = { phoneNumber: '+393331234567', message: 'Hello', enableNotification: true };
  const { messageId } = await program.client.send(body);
  return messageId ?? '';
}
const entryOf = (messageId: string, fits: (entry: Entry) => boolean) =>
  until('an entry of the log', async () => (await list(`messageId=${messageId}`)).data.find(fits));

test('an event that failed and then went through tells what was sent, and every answer', async () => {
  receiver.answer({ status: 500, body: 'disk\0 full: “/var”' });
  const messageId = await send();
  const { id } = await entryOf(messageId, ({ attempts }) => attempts === 1);
  receiver.answer({ status: 202, body: 'ok' });
  await program.client.request('POST', `${LOG}/${id}/replay`);
  await entryOf(messageId, (entry) => entry.id === id && entry.status === 'DELIVERED');
  const detail = await ask<Detail>(`${LOG}/${id}`);
  expect(detail.log).toMatchObject([
    { responseCode: 500, failure: 'answered 500', answer: 'disk full: “/var”' },
    { responseCode: 202, failure: null, answer: 'ok' },
  ]);
  const sent = receiver.requests.findLast(({ headers }) => headers['webhook-id'] === id);
  expect(detail.request).toMatchObject({ url: `${receiver.url}/events`, body: sent?.body });
  expect(sent?.headers).toMatchObject(detail.request?.headers ?? {});
});

test('no more than the first 1,024 octets of an answer are kept, and no half character', async () => {
  receiver.answer({ status: 500, body: `x${'é'.repeat(5000)}` });
  const messageId = await send();
  const { id } = await entryOf(messageId, ({ attempts }) => attempts === 1);
  const { log } = await ask<Detail>(`${LOG}/${id}`);
  expect(log).toMatchObject([{ answer: `x${'é'.repeat(511)}` }]);
});

test('without a webhook nothing is said of what would be sent', async () => {
  const messageId = await send();
  const { id } = await entryOf(messageId, ({ status }) => status === 'DELIVERED');
  await program.client.request('DELETE', WEBHOOK);
  expect(await ask<Detail>(`${LOG}/${id}`)).toMatchObject({ request: null, log: [{ responseCode: 200 }] });
});

test('the log is narrowed by kind of event, message and time', async () => {
  const messageId = await send();
  const data = await until('what the message comes to: accepted, then delivered', async () => {
    const told = await list(`messageId=${messageId}&status=DELIVERED`);
    return told.data.length === 2 && told.data;
  });
  const total = async (query: string): Promise<number> => (await list(`messageId=${messageId}&${query}`)).total;
  expect(await total('eventType=DELIVERY')).toBe(data.length);
  expect(await total('eventType=INBOUND')).toBe(0);
  expect((await list('messageId=0198c0de-0000-7000-8000-000000000000')).total).toBe(0);
  const hence = new Date(Date.now() + 60_000).toISOString();
  expect(await total(`since=${hence}`)).toBe(0);
  expect(await total(`until=${hence}&status=DELIVERED`)).toBe(data.length);
});

test.each([
  ['1969-12-31T23:59:59Z', 200],
  ['0000-01-01T00:00:00Z', 200],
  ['2026-12-31T23:59:60Z', 400],
  ['2026-12-31T23:59:00%2B01', 400],
  ['2026-02-30T00:00:00Z', 400],
])('the log from %s on is answered with %i', async (since, status) => {
  const answer = await program.client.request('GET', `${LOG}?since=${since}&until=${since}`);
  expect(answer.status).toBe(status);
  if (status === 400) expect(answer.body).toMatchObject({ details: [{ field: 'since' }, { field: 'until' }] });
  const body = { since: decodeURIComponent(since) };
  expect((await program.client.request('POST', `${WEBHOOK}/replay`, { body })).status).toBe(status === 200 ? 202 : 400);
});

test('what is no id, no time or no event is refused, naming the field', async () => {
  const { status, body } = await program.client.request('GET', `${LOG}?messageId=x&since=y&eventType=z`);
  expect(status).toBe(400);
  expect(body).toMatchObject({
    details: expect.arrayContaining(
      ['messageId', 'since', 'eventType'].map((field) => expect.objectContaining({ field })),
    ),
  });
  expect((await program.client.request('GET', `${LOG}/x`)).status).toBe(404);
  expect((await program.client.request('GET', `${LOG}/0198c0de-0000-7000-8000-000000000000`)).status).toBe(404);
});
