import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TEST_CERT } from '../support/http/certificate.ts';
import { type Receiver, startReceiver } from '../support/http/receiver.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const A = '/api/partner-gateway/v1/webhooks/delivery-status';
const B = '/api/webhooks/delivery-status';
const AUDIT = '/api/partner-gateway/v1/audit';

let program: TestProgram;
let receiver: Receiver;
let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-ca-');
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  receiver = await startReceiver();
  program = await startTestProgram({
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
    },
  });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
afterEach(() => receiver.answer({}));

type WebhookBody = Record<string, unknown> & { messageId: string };
const eventsWhere = (of: (event: WebhookBody) => boolean): WebhookBody[] =>
  receiver.requests.map(({ body }): WebhookBody => JSON.parse(body)).filter(of);
const untilEvents = (messageId: string, count: number) =>
  until(`${count} events of ${messageId}`, () => {
    const events = eventsWhere((event) => event.messageId === messageId);
    return events.length >= count && events;
  });

async function registerA(): Promise<string> {
  const { status, body } = await program.client.request('POST', A, { body: { callbackUrl: receiver.url } });
  expect(status).toBe(201);
  return (body as { secret: string }).secret;
}
type Page = { data: Record<string, unknown>[]; total: number };
const deliveries = async (query = ''): Promise<Page> =>
  (await program.client.request('GET', `${A}/deliveries?limit=1000${query}`)).body as Page;

test('form A: each change of a message and each inbound message, signed, in the form of the specification', async () => {
  const secret = await registerA();
  const { client } = program;
  const sent = await client.send({ phoneNumber: '+393331234567', message: 'Hello', customerMessageId: 'mine-1' });
  const messageId = sent.messageId ?? '';
  const events = await untilEvents(messageId, 2);
  const shared = {
    eventType: 'DELIVERY',
    messageId,
    customerMessageId: 'mine-1',
    destination: '+393331234567',
    channel: 'SMS',
  };
  const { deliveryDate } = await client.untilStatus(messageId, 'DELIVERED');
  expect(events).toEqual([
    { ...shared, statusCode: 1, description: 'accepted', timestamp: expect.any(String) },
    { ...shared, statusCode: 3, description: 'delivered', timestamp: deliveryDate },
  ]);

  const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
  await runOperatorCommand(program, 'number', 'assign', ...number);
  await program.smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Ciao 😀' });
  const [inbound] = await until('an inbound event', () => {
    const found = eventsWhere((event) => event['eventType'] === 'INBOUND');
    return found.length > 0 && found;
  });
  expect(inbound).toEqual({
    eventType: 'INBOUND',
    source: '+393331234567',
    destination: '4400',
    text: 'Ciao 😀',
    channel: 'SMS',
    messageType: 'TEXT',
    timestamp: expect.any(String),
  });
  for (const { body, headers } of receiver.requests) new Webhook(secret).verify(body, headers);
});

test('simulated messages cause events as others do, unless they asked for no notification', async () => {
  await registerA();
  const { client } = program;
  const quiet = await client.sendAsMessageServer({
    destination: '+393331234568',
    sender: 'Acme',
    body: 'x',
    simulation: true,
    enableNotification: false,
  });
  const { messageId } = await client.send({ phoneNumber: '+393330000001', message: 'x', simulation: true });
  expect((await untilEvents(messageId ?? '', 2)).map((event) => event['statusCode'])).toEqual([1, 6]);
  await client.untilStatus(quiet.messageId ?? '', 'DELIVERED');
  const last = await client.send({ phoneNumber: '+393331234569', message: 'x', simulation: true });
  await untilEvents(last.messageId ?? '', 2);
  expect(eventsWhere((event) => event.messageId === quiet.messageId)).toEqual([]);
});

test('form B: a status as a word, with the error of a failure', async () => {
  const { client } = program;
  const { status } = await client.request('POST', B, { body: { url: receiver.url, method: 'POST' } });
  expect(status).toBe(201);
  const { messageId } = await client.send({ phoneNumber: '+393330000003', message: 'x', simulation: true });
  const shared = { messageId, phoneNumber: '+393330000003', channel: 'sms', timestamp: expect.any(String) };
  expect(await untilEvents(messageId ?? '', 2)).toEqual([
    { ...shared, status: 'SENT', error: null },
    { ...shared, status: 'ERROR', error: 'simulated' },
  ]);
});

test('the log shows what became of each event, and replays it on request; another account sees nothing of it', async () => {
  await registerA();
  const { client } = program;
  receiver.answer({ status: 500 });
  const { messageId } = await client.send({ phoneNumber: '+393331231231', message: 'x', simulation: true });
  const of = async (query = '') => (await deliveries(query)).data.filter((entry) => entry['messageId'] === messageId);
  await until('both', async () => (await of('&status=PENDING')).length === 2);
  const [behind, failed] = await of();
  expect(failed).toMatchObject({ status: 'PENDING', attempts: 1, responseCode: 500, failure: 'answered 500' });
  expect(Date.parse(String(failed?.['nextAttemptAt']))).toBeGreaterThan(Date.parse(String(failed?.['updatedAt'])));
  expect(behind).toMatchObject({ attempts: 0, failure: 'waits for an earlier event of its message' });

  receiver.answer({});
  const replay = (id: unknown, as = client) => as.request('POST', `${A}/deliveries/${String(id)}/replay`);
  expect((await replay(behind?.['id'])).status).toBe(409);
  expect((await replay('018f0000-0000-7000-8000-000000000000')).status).toBe(404);
  expect((await replay('nonsense')).status).toBe(404);
  expect((await replay(failed?.['id'])).status).toBe(202);
  await until('both', async () => (await of('&status=DELIVERED')).length === 2);
  const inOrder = eventsWhere((event) => event.messageId === messageId).map((event) => event['statusCode']);
  expect(inOrder).toEqual([1, 1, 3]);

  const since = new Date(Date.now() - 3_600_000).toISOString();
  const { total } = await deliveries('&status=DELIVERED');
  const before = receiver.requests.length;
  const all = await client.request('POST', `${A}/replay`, { body: { since, status: 'DELIVERED' } });
  expect(all).toMatchObject({ status: 202, body: { replayed: total } });
  await until('all of them', () => receiver.requests.length >= before + total);
  await until('an end', async () => (await deliveries('&status=PENDING')).total === 0);
  const wrong = await client.request('POST', `${A}/replay`, { body: { since, until: '2020-01-01T00:00:00Z' } });
  expect(wrong).toMatchObject({ status: 400, body: { details: [{ field: 'until' }] } });

  const timeline = await client.request('GET', `/api/partner-gateway/v1/messages/${messageId}/timeline`);
  const attempts = (timeline.body as { events: { kind: string; text: string }[] }).events.filter(
    ({ kind }) => kind === 'WEBHOOK',
  );
  expect(attempts.map(({ text }) => text.replace(/\d+ ms/, 'n ms')).sort()).toEqual([
    'DELIVERY: acknowledged with 200 after n ms',
    'DELIVERY: acknowledged with 200 after n ms',
    'DELIVERY: answered 500, after n ms',
  ]);
  const audit = (await client.request('GET', `${AUDIT}?limit=1000`)).body as Page;
  expect(audit.data.filter((entry) => entry['action'] === 'webhook.replay')).toHaveLength(2);

  const { answer } = await runOperatorCommand(program, 'account', 'create', '--name', 'Neighbour');
  const otherClient = program.clientOf((answer as { apiKey: string }).apiKey);
  expect((await replay(failed?.['id'], otherClient)).status).toBe(404);
  expect((await otherClient.request('GET', `${A}/deliveries`)).body).toMatchObject({ data: [], total: 0 });
});

test('events committed before a stop are delivered after the next start', async () => {
  await registerA();
  receiver.answer({ manner: 'close' });
  const { messageId } = await program.client.send({ phoneNumber: '+393331231232', message: 'x', simulation: true });
  await until('a failure', async () => (await deliveries('&status=PENDING')).total > 0);
  await program.stop();
  receiver.answer({});
  await program.pool.query('UPDATE webhook_retry SET due_at = now() WHERE due_at IS NOT NULL');
  await program.start();
  expect((await untilEvents(messageId ?? '', 3)).map((event) => event['statusCode'])).toEqual([1, 1, 3]);
});
