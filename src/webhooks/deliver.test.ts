import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bulkId } from '../../test/support/bulk-id.ts';
import { testDatabase } from '../../test/support/database.ts';
import { type Received, type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { registerWebhook, startWebhookWorker, type WebhookWorker } from '../../test/support/http/webhook.ts';
import { newMessage } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { newSingleId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { INITIAL_CONCURRENCY } from './account-queue.ts';
import { publishEvents } from './outbox.ts';

const database = testDatabase();
const { pool } = database;

let receiver: Receiver;
let workers: WebhookWorker[] = [];
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE webhook_endpoint, webhook_outbox, webhook_claim, webhook_retry, webhook_delivery, message`,
  );
  receiver = await startReceiver();
});
afterEach(async () => {
  // Also ends the requests that it has not answered, for which the workers would wait.
  await receiver[Symbol.asyncDispose]();
  await Promise.all(workers.map((worker) => worker.stop(1000)));
  workers = [];
});

const ACCOUNT = 1;

async function work(options: { deadlineMs?: number } = {}): Promise<WebhookWorker> {
  const worker = await startWebhookWorker(database, { ports: [receiver.port], ...options });
  workers.push(worker);
  return worker;
}

/** Messages with these statuses published of each, in order. */
async function publish(count: number, statuses: readonly number[] = [STATUS.DELIVERED], accountId = ACCOUNT) {
  const messages = Array.from({ length: count }, () => newMessage({ accountId, id: bulkId() }));
  await insertMessages(pool, messages);
  for (const status of statuses)
    await publishStatus(
      messages.map(({ id }) => id),
      status,
      accountId,
    );
  return messages.map(({ id }) => id);
}

const publishStatus = (ids: readonly string[], status: number, accountId = ACCOUNT) =>
  publishEvents(
    pool,
    ids.map((messageId) => ({ accountId, kind: 'DELIVERY', messageId, status })),
  );

type Body = { messageId: string; statusCode: number };
const bodyOf = ({ body }: Received): Body => JSON.parse(body);
type Entry = { id: string; messageId: string; status: number; state: string; attempts: number; failure: string | null };
const log = (): Promise<Entry[]> =>
  many(
    pool,
    sql`SELECT id, message_id AS "messageId", status, state, attempts, failure FROM webhook_delivery ORDER BY message_id, id`,
  );
const untilLogged = (state: string, count: number) =>
  until(`${count} ${state}`, async () => {
    const entries = (await log()).filter((entry) => entry.state === state);
    return entries.length >= count && entries;
  });
const leftOver = () =>
  one<{ rows: number }>(
    pool,
    sql`SELECT (SELECT count(*) FROM webhook_outbox) + (SELECT count(*) FROM webhook_retry) AS rows`,
  );
/** Makes all later attempts due now. */
async function hurry(): Promise<void> {
  await exec(pool, sql`UPDATE webhook_retry SET due_at = now() WHERE due_at IS NOT NULL`);
  for (const worker of workers) worker.wake();
}

describe('delivery', () => {
  test('tells each event once, signed so that an independent library agrees, logs it and forgets it', async () => {
    const secret = await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    const ids = await publish(1200);
    // On a busy machine some responses take longer than the default, and their events are sent again.
    await work({ deadlineMs: 120_000 });
    const entries = await untilLogged('DELIVERED', 1200);
    expect(receiver.requests.map((request) => bodyOf(request).messageId).sort()).toEqual([...ids].sort());
    for (const { body, headers } of receiver.requests) new Webhook(secret).verify(body, headers);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set(entries.map(({ id }) => id)),
    );
    await until('an empty outbox', async () => (await leftOver()).rows === 0);
  });

  test('of rows with one event each, many are loaded at a time', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    for (let n = 0; n < 200; n++) await publish(1);
    const query = vi.spyOn(pool, 'query');
    await work();
    await untilLogged('DELIVERED', 200);
    const results = query.mock.calls.flatMap(([statement], n) => {
      const isLoad = String(Object(statement).text).includes('FROM webhook_outbox w');
      const result: unknown = query.mock.settledResults[n]?.value;
      return isLoad ? [Object(result).rows.length] : [];
    });
    expect(Math.max(...results)).toBeGreaterThan(100);
  });

  test('an account without a webhook has no events, nor one whose webhook is disabled', async () => {
    await registerWebhook(pool, { accountId: 2, url: receiver.url });
    await exec(pool, sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'test'`);
    await publish(3);
    await publish(3, [STATUS.DELIVERED], 2);
    expect(await leftOver()).toEqual({ rows: 0 });
  });
});

describe('failures', () => {
  test('are tried again under the same id with the same body, and told of in the log', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 500 });
    await publish(1);
    await work();
    await until('a failure', async () => (await log()).some(({ attempts }) => attempts === 1));
    const [retry] = await many<{ seconds: number }>(
      pool,
      sql`SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM webhook_retry`,
    );
    expect(retry?.seconds).toBeLessThanOrEqual(6);
    receiver.answer({ status: 204 });
    await hurry();
    const [entry] = await untilLogged('DELIVERED', 1);
    const [first, second] = receiver.requests;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(entry).toMatchObject({ attempts: 2 });
    expect(await leftOver()).toEqual({ rows: 0 });
  });

  test('end as DEAD after the tenth repetition', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 500 });
    await publish(1);
    await work();
    await until('a failure', async () => (await log()).some(({ attempts }) => attempts === 1));
    await exec(pool, sql`UPDATE webhook_delivery SET attempts = 10`);
    await hurry();
    const [dead] = await untilLogged('DEAD', 1);
    expect(dead).toMatchObject({ attempts: 11, failure: 'answered 500' });
    expect(await leftOver()).toEqual({ rows: 0 });
  });

  test('410 disables the webhook, and the event is not sent again', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 410 });
    await publish(1);
    await work();
    await untilLogged('DEAD', 1);
    const [row] = await many(pool, sql`SELECT status, disabled_reason AS reason FROM webhook_endpoint`);
    expect(row).toEqual({ status: 'disabled', reason: 'the receiver returned 410 Gone' });
  });

  test('of five days disable the webhook, a success in between starts them anew', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    const failingFor = (days: number) =>
      exec(pool, sql`UPDATE webhook_endpoint SET failing_since = now() - ${days} * interval '1 day'`);
    const status = () =>
      one<{ status: string; failing: boolean }>(
        pool,
        sql`SELECT status, failing_since IS NOT NULL AS failing FROM webhook_endpoint`,
      );
    await failingFor(4.9);
    await publish(1);
    await work();
    await untilLogged('DELIVERED', 1);
    expect(await status()).toEqual({ status: 'active', failing: false });
    receiver.answer({ status: 500 });
    await publish(1);
    await until('a first failure', async () => (await status()).failing);
    await failingFor(5.1);
    await hurry();
    await until('its end', async () => (await status()).status === 'disabled');
  });

  test('an event that cannot be signed is not sent, and fails', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    await exec(pool, sql`UPDATE webhook_endpoint SET secret = 'sealed elsewhere'::bytea`);
    await publish(1);
    await work();
    await until('a failure', async () => (await log()).some(({ attempts }) => attempts === 1));
    expect(await log()).toMatchObject([{ state: 'PENDING', failure: 'the gateway cannot open its secret: rotate it' }]);
    expect(receiver.requests).toEqual([]);
  });

  test('Retry-After is honoured up to a day', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 429, headers: { 'retry-after': '999999' } });
    await publish(1);
    await work();
    const [row] = await until('a plan', async () => {
      const rows = await many<{ hours: number }>(
        pool,
        sql`SELECT extract(epoch FROM due_at - now())::float8 / 3600 AS hours FROM webhook_retry`,
      );
      return rows.length > 0 && rows;
    });
    expect(row?.hours).toBeCloseTo(24, 1);
  });
});

describe('order', () => {
  test('of each message, one at a time and in order, also over failures; other messages do not wait', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    let fails = true;
    const sequence = [STATUS.ACCEPTED, STATUS.EXPIRED, STATUS.DELIVERED];
    const [stubborn = '', ...others] = await publish(50, sequence);
    receiver.answer((request) => (fails && bodyOf(request).messageId === stubborn ? { status: 503 } : {}));
    /** The statuses that the receiver was told of a message; one that was told again counts once. */
    const codesOf = (id: string) => {
      const told = receiver.requests.map(bodyOf).filter(({ messageId }) => messageId === id);
      return told.map(({ statusCode }) => statusCode).filter((code, i, all) => code !== all[i - 1]);
    };
    await work();
    await untilLogged('DELIVERED', others.length * 3);
    await until(
      'those behind',
      async () => (await log()).filter(({ messageId }) => messageId === stubborn).length === 3,
    );
    expect(codesOf(stubborn)).toEqual([STATUS.ACCEPTED]);
    await publishStatus([stubborn], STATUS.REJECTED);
    await until(
      'one more behind',
      async () => (await log()).filter(({ messageId }) => messageId === stubborn).length === 4,
    );
    fails = false;
    await hurry();
    await untilLogged('DELIVERED', others.length * 3 + 4);
    for (const id of others) expect(codesOf(id)).toEqual(sequence);
    expect(codesOf(stubborn)).toEqual([...sequence, STATUS.REJECTED]);
    expect(receiver.requests.filter((request) => bodyOf(request).messageId !== stubborn)).toHaveLength(
      others.length * 3,
    );
  });

  test('single sends go before bulk that has waited longer, of their account and of another', async () => {
    for (const accountId of [ACCOUNT, 2]) {
      await registerWebhook(pool, { accountId, url: receiver.url });
      await publish(1200, [STATUS.ACCEPTED, STATUS.DELIVERED], accountId);
    }
    const singles = Array.from({ length: 6 }, () => newMessage({ accountId: ACCOUNT, id: newSingleId() }));
    await insertMessages(pool, singles);
    const ids = singles.map(({ id }) => id);
    await publishStatus(ids, STATUS.DELIVERED);
    receiver.answer({ manner: 'silent' });
    await work();
    const first = await receiver.received(2 * INITIAL_CONCURRENCY);
    expect(first.map((request) => bodyOf(request).messageId)).toEqual(expect.arrayContaining(ids));
  });

  test('what waits behind an event goes when that is dead', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    const [id = ''] = await publish(1, [STATUS.ACCEPTED, STATUS.DELIVERED]);
    receiver.answer((request) => ({ status: bodyOf(request).statusCode === STATUS.ACCEPTED ? 500 : 200 }));
    await work();
    await until('both', async () => (await log()).length === 2);
    await exec(pool, sql`UPDATE webhook_delivery SET attempts = 10 WHERE attempts = 1`);
    await hurry();
    await untilLogged('DELIVERED', 1);
    expect((await log()).map(({ messageId, state }) => [messageId, state])).toEqual([
      [id, 'DEAD'],
      [id, 'DELIVERED'],
    ]);
  });
});

describe('workers', () => {
  test('several at once tell each event once', async () => {
    for (let accountId = 1; accountId <= 6; accountId++)
      await registerWebhook(pool, { accountId, url: `${receiver.url}/${accountId}` });
    await Promise.all([work(), work(), work()]);
    for (let accountId = 1; accountId <= 6; accountId++)
      await publish(20, [STATUS.ACCEPTED, STATUS.DELIVERED], accountId);
    await untilLogged('DELIVERED', 240);
    expect(receiver.requests).toHaveLength(240);
  });

  test('one that lost its session without knowing leaves all to the one that took over', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ manner: 'silent' });
    await publish(3);
    await work({ deadlineMs: 2000 });
    await receiver.received(3);
    const { session } = await work();
    receiver.answer({});
    await exec(pool, sql`UPDATE webhook_claim SET owner = ${session.owner}`);
    await untilLogged('DELIVERED', 3);
    expect((await log()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  test('a stopped one gives its accounts back', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    await publish(3);
    const first = await work();
    await untilLogged('DELIVERED', 3);
    workers = [];
    await first.stop(1000);
    expect(await many(pool, sql`SELECT * FROM webhook_claim`)).toEqual([]);
  });
});

describe('a webhook that changes', () => {
  test('gets what waits in its own form, at its own URL', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 500 });
    await publish(1);
    await work();
    await until('a failure', async () => (await log()).length === 1);
    receiver.answer({});
    await registerWebhook(pool, { accountId: ACCOUNT, url: `${receiver.url}/new`, form: 'B' });
    await hurry();
    await untilLogged('DELIVERED', 1);
    expect(receiver.requests.at(-1)).toMatchObject({ path: '/new' });
    expect(JSON.parse(receiver.requests.at(-1)?.body ?? '')).toMatchObject({ status: 'DELIVERED', channel: 'sms' });
  });

  test('and is deleted gets nothing more, and nothing is left', async () => {
    await registerWebhook(pool, { accountId: ACCOUNT, url: receiver.url });
    receiver.answer({ status: 500 });
    await publish(1);
    const worker = await work();
    await until('a failure', async () => (await log()).length === 1);
    await publish(2);
    await exec(pool, sql`DELETE FROM webhook_endpoint`);
    await hurry();
    worker.wake();
    await until('nothing', async () => (await leftOver()).rows === 0);
    expect(await log()).toMatchObject([{ state: 'DEAD' }]);
  });
});
