import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bulkId } from '../../test/support/bulk-id.ts';
import { testDatabase } from '../../test/support/database.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import {
  addEndpoint,
  registerWebhook,
  startWebhookWorker,
  type WebhookWorker,
} from '../../test/support/http/webhook.ts';
import { newMessage } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages, type NewMessage } from '../messages/new-messages.ts';
import { createAccount } from '../operate/account-commands.ts';
import { enableEndpoint, findCallback, pauseEndpoint, removeEndpoint } from './endpoints.ts';
import { FACTS } from './fact-types.ts';
import { type Filters, filterOf } from './filters.ts';
import { publishEvents, publishFacts } from './outbox.ts';

const database = testDatabase();
const { pool } = database;
let accountId = 0;
let receiver: Receiver;
let worker: WebhookWorker | null = null;

beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE webhook_endpoint, webhook_outbox, webhook_claim, webhook_retry, webhook_delivery, message`,
  );
  ({ accountId } = await createAccount(pool, { name: `Acme ${bulkId()}`, plan: 'unlimited' }));
  receiver = await startReceiver();
});
afterEach(async () => {
  await worker?.stop(1000);
  worker = null;
  await receiver[Symbol.asyncDispose]();
});

const work = async (): Promise<void> => {
  worker = await startWebhookWorker(database, { ports: [receiver.port] });
};
const add = (path: string, more: Partial<Parameters<typeof addEndpoint>[1]> = {}) =>
  addEndpoint(pool, { accountId, url: `${receiver.url}${path}`, ...more });

/** Publishes that messages were accepted and then came to this end. */
async function publish(count: number, end: number = STATUS.DELIVERED, more: Partial<NewMessage> = {}) {
  const messages = Array.from({ length: count }, () => newMessage({ accountId, id: bulkId(), ...more }));
  await insertMessages(pool, messages);
  for (const status of [STATUS.ACCEPTED, end])
    await publishEvents(
      pool,
      messages.map(({ id: messageId }) => ({ accountId, kind: 'DELIVERY', messageId, status })),
    );
  return messages.map(({ id }) => id);
}
type Told = {
  id: string;
  type: string;
  accountId: number;
  data: { messageId: string; serviceId?: string; price: object | null };
};
const told = (path: string): Told[] =>
  receiver.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body));
const untilTold = (path: string, count: number) => until(`${count} at ${path}`, () => told(path).length >= count);
const left = async (): Promise<number> => {
  const row = await one<{ rows: number }>(
    pool,
    sql`SELECT (SELECT count(*) FROM webhook_outbox) + (SELECT count(*) FROM webhook_retry) AS rows`,
  );
  return row.rows;
};

test('each endpoint gets the events of its types and filters under one id, beside the webhook of the specification', async () => {
  await registerWebhook(pool, { accountId, url: `${receiver.url}/v1` });
  const all = await add('/all', { eventTypes: ['*'], headers: { 'X-Token': 'a' } });
  await add('/failed', { eventTypes: ['message.failed'], showsAmounts: true });
  await add('/campaigns', { eventTypes: ['message.*'], filters: { campaignIds: [7] } });
  await add('/failures', { eventTypes: ['message.*'], filters: { failedOnly: true, countries: ['PT'] } });
  const [delivered, failed] = [await publish(30), await publish(20, STATUS.REJECTED)];
  await work();
  await Promise.all([
    untilTold('/v1', 100),
    untilTold('/all', 100),
    untilTold('/failed', 20),
    untilTold('/failures', 20),
  ]);
  await until('an empty outbox', async () => (await left()) === 0);
  const typesOf = (id: string): string[] =>
    told('/all').flatMap(({ type, data }) => (data.messageId === id ? [type] : []));
  for (const id of delivered) expect(typesOf(id)).toEqual(['message.sent', 'message.delivered']);
  for (const id of failed) expect(typesOf(id)).toEqual(['message.sent', 'message.failed']);
  for (const path of ['/failed', '/failures'])
    expect(
      told(path)
        .map(({ data }) => data.messageId)
        .sort(),
    ).toEqual([...failed].sort());
  expect(told('/campaigns')).toEqual([]);
  const at = (path: string): Map<string, string> => new Map(told(path).map(({ data, id }) => [data.messageId, id]));
  for (const id of failed) expect(at('/failed').get(id)).toBe(at('/failures').get(id));
  expect(told('/failed')[0]).toMatchObject({ accountId, data: { price: { amount: 0 } } });
  expect(told('/all')[0]?.data.price).toBeNull();
  const request = receiver.requests.find(({ path }) => path === '/all');
  expect(request?.headers).toMatchObject({ 'x-token': 'a', 'webhook-id': told('/all')[0]?.id });
  new Webhook(all.plainSecret).verify(request?.body ?? '', request?.headers ?? {});
});

type Facts = { readonly source?: string; readonly destination?: string; readonly status?: number };

test.each<[of: string, filters: Filters, facts: Facts, passes: boolean]>([
  ['the country of a number', { countries: ['PT'] }, { destination: '+351912345678' }, true],
  ['another country', { countries: ['PT'] }, { destination: '+393331234567' }, false],
  ['the country of a person without a visible number', { countries: ['PT'] }, { destination: 'PT.9a' }, true],
  ['the country of such a sender', { countries: ['PT'] }, { source: 'PT.9a', destination: '1' }, true],
  ['the country of a sender without a plus', { countries: ['PT'] }, { source: '351912345678' }, true],
  ['another country of a person without a number', { countries: ['PT'] }, { source: 'US.9a' }, false],
  ['a failure', { failedOnly: true }, { status: STATUS.EXPIRED }, true],
  ['a delivery', { failedOnly: true }, { status: STATUS.DELIVERED }, false],
  ['a cancelled message', { failedOnly: true }, { status: STATUS.DELETED }, false],
])('%s: the filter %j and an event with %j match: %s', (_, filters, { status = STATUS.ACCEPTED, ...facts }, passes) => {
  const about = { accountId, endpoint: 1, id: newId(), messageId: newId(), kind: 'DELIVERY', data: null, facts };
  const event = { ...about, at: new Date(), status, error: null, seq: 0, outboxId: null, attempts: 0 };
  expect(filterOf(filters)?.(event)).toBe(passes);
});

test('events of sent messages are filtered by tag, those of verifications by service, and others pass', async () => {
  const [ours, other] = [newId(), newId()];
  await add('/tags', { eventTypes: ['*'], filters: { tags: ['spring', 'sale'], verifyServiceIds: [ours] } });
  const [tagged] = await publish(1, STATUS.DELIVERED, { clientData: { tags: ['sale', 'it'] } });
  await publish(1, STATUS.DELIVERED, { clientData: { tags: ['autumn'] } });
  await publish(1);
  for (const serviceId of [ours, other])
    await publishFacts(pool, [
      {
        accountId,
        type: 'verification.approved',
        about: serviceId,
        data: { ...FACTS['verification.approved'].example, serviceId },
      },
    ]);
  await publishFacts(pool, [{ accountId, type: 'credit.low', about: '', data: FACTS['credit.low'].example }]);
  await work();
  await until('an empty outbox', async () => (await left()) === 0);
  expect(told('/tags').map(({ type, data }) => [type, data.messageId ?? data.serviceId])).toEqual(
    expect.arrayContaining([
      ['message.sent', tagged],
      ['message.delivered', tagged],
      ['verification.approved', ours],
      ['credit.low', undefined],
    ]),
  );
  expect(told('/tags')).toHaveLength(4);
});

test('an endpoint that never answers delays no other, and its events stay in order behind it', async () => {
  receiver.answer(({ path }) => (path === '/dead' ? { status: 500 } : {}));
  await add('/dead', { eventTypes: ['message.*'] });
  await add('/good', { eventTypes: ['message.*'] });
  await publish(300);
  await work();
  await untilTold('/good', 600);
  const dead = await many<{ state: string }>(
    pool,
    sql`SELECT DISTINCT state FROM webhook_delivery d
    JOIN webhook_endpoint e ON e.ref = d.endpoint WHERE e.url LIKE '%/dead'`,
  );
  expect(dead.every(({ state }) => state === 'PENDING')).toBe(true);
});

test('a failed event is repeated at its own endpoint only, as long as its plan says', async () => {
  receiver.answer(({ path }) => (path === '/good' ? {} : { status: 500 }));
  await add('/once', { eventTypes: ['message.delivered'], retry: 'none' });
  await add('/often', { eventTypes: ['message.delivered'] });
  await add('/good', { eventTypes: ['message.delivered'] });
  await publish(1);
  await work();
  const states = () =>
    many<{ path: string; state: string; attempts: number }>(
      pool,
      sql`SELECT right(e.url, 5) AS path, d.state, d.attempts FROM webhook_delivery d JOIN webhook_endpoint e ON e.ref = d.endpoint
          ORDER BY e.ref`,
    );
  await until('three results', async () => (await states()).length === 3);
  expect(await states()).toEqual([
    { path: '/once', state: 'DEAD', attempts: 1 },
    { path: 'often', state: 'PENDING', attempts: 1 },
    { path: '/good', state: 'DELIVERED', attempts: 1 },
  ]);
  receiver.answer({});
  await exec(pool, sql`UPDATE webhook_retry SET due_at = now()`);
  await untilTold('/often', 2);
  expect(told('/good')).toHaveLength(1);
});

test('the events of a paused endpoint wait until it is resumed; those of a deleted one are gone', async () => {
  const author = operatorAuthor(accountId);
  const { ref } = await add('/paused', { eventTypes: ['message.delivered'] });
  const other = await add('/deleted', { eventTypes: ['message.delivered'] });
  await transaction(pool, (tx) => pauseEndpoint(tx, author, { ref }));
  await transaction(pool, (tx) => pauseEndpoint(tx, author, { ref: other.ref }));
  await add('/good', { eventTypes: ['message.delivered'] });
  await publish(5);
  await work();
  await untilTold('/good', 5);
  expect(told('/paused')).toEqual([]);
  await transaction(pool, (tx) => removeEndpoint(tx, author, { ref: other.ref }));
  await transaction(pool, (tx) => enableEndpoint(tx, author, { ref }));
  await untilTold('/paused', 5);
  await until('an empty outbox', async () => (await left()) === 0);
  expect(told('/deleted')).toEqual([]);
});

test('the events of a message with a callback URL go there, with the secret of the oldest endpoint at that host', async () => {
  await add('/other', { eventTypes: ['message.delivered'] });
  const { ref, plainSecret } = await add('/events', { eventTypes: ['message.delivered'] });
  await exec(pool, sql`DELETE FROM webhook_endpoint WHERE url LIKE '%/other'`);
  const url = `${receiver.url}/orders/1?shop=a`;
  const callback = await findCallback(pool, { accountId, url });
  expect(callback).toEqual({ url, endpoint: ref });
  for (const wrong of ['https://example.com/events', `${receiver.url.replace('https', 'http')}/events`, 'x'])
    await expect(findCallback(pool, { accountId, url: wrong })).rejects.toMatchObject({
      details: [{ field: 'callbackUrl' }],
    });
  const given = { metadata: { order: '1' }, tags: ['spring'], callback };
  const [message, plain] = [
    newMessage({ accountId, id: bulkId(), clientData: given }),
    newMessage({ accountId, id: bulkId() }),
  ];
  // A host without an endpoint is never called, even if the endpoint has moved since.
  const moved = newMessage({
    accountId,
    id: bulkId(),
    clientData: { callback: { url: 'https://example.com/a', endpoint: ref } },
  });
  await insertMessages(pool, [message, plain, moved]);
  await publishEvents(
    pool,
    [message, plain, moved].map(({ id: messageId }) => ({
      accountId,
      kind: 'DELIVERY',
      messageId,
      status: STATUS.DELIVERED,
    })),
  );
  await work();
  await untilTold('/events', 2);
  await untilTold('/orders/1?shop=a', 1);
  expect(told('/orders/1?shop=a')[0]?.data).toMatchObject({
    messageId: message.id,
    metadata: { order: '1' },
    tags: ['spring'],
  });
  expect(
    told('/events')
      .map(({ data }) => data.messageId)
      .sort(),
  ).toEqual([plain.id, moved.id].sort());
  const request = receiver.requests.find(({ path }) => path.startsWith('/orders'));
  new Webhook(plainSecret).verify(request?.body ?? '', request?.headers ?? {});
});

test('an endpoint gets no more requests a second than it allows', async () => {
  await add('/slow', { eventTypes: ['message.delivered'], maxPerSecond: 20 });
  await publish(40);
  await work();
  await untilTold('/slow', 40);
  const [first, last] = [receiver.requests[0], receiver.requests.at(-1)];
  // A burst of a quarter of a second, and then 35 at 20 a second.
  expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1600);
});
