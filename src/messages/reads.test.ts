import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { registerWebhook } from '../../test/support/http/webhook.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { ReceiptState } from '../channels/carrier.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { loadJobs } from './load.ts';
import { insertMessages } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';
import { findTimeline } from './timeline.ts';

const { pool } = testDatabase();

let accountId: number;
beforeAll(async () => {
  accountId = await createAccountWithCredit(pool, 0);
  await registerWebhook(pool, { accountId, url: 'https://example.test/' });
});
beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, message_event, webhook_outbox, traffic_hour`));

/** A WhatsApp message that the network took. */
async function sent(): Promise<string> {
  const message = newMessage({ accountId, channel: 'WHATSAPP' });
  await insertMessages(pool, [message]);
  const chunk = { id: 1, accountId, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const [jobs] = await loadJobs(pool, [{ ...chunk, onUnknown: 'hold', campaignId: null, ids: [message.id] }]);
  const taken = { kind: 'accepted', carrierIds: [message.id] } as const;
  await settleOutcomes(pool, [resultOf(message.id, taken, { accountId, job: jobs?.[0] ?? null })], false);
  return message.id;
}

const AT = new Date('2090-01-31T09:00:07.000Z');
const LATER = new Date('2090-01-31T09:30:07.000Z');
type Said = readonly [state: ReceiptState, at: Date];

/** Receipts of one message that are processed together. */
const arrive = (messageId: string, ...said: Said[]): Promise<unknown> => arriveFor(messageId, null, said);
const arriveFor = (messageId: string, part: number | null, said: readonly Said[]): Promise<unknown> =>
  transaction(pool, (tx) =>
    receiveReceipts(
      tx,
      said.map((one) => arrived(messageId, part, one)),
    ),
  );
const arrived = (messageId: string, part: number | null, [state, doneAt]: Said) => ({
  accountId,
  messageId,
  part,
  connectionId: 1,
  receivedAt: new Date(),
  receipt: receipt(messageId, { state, doneAt }),
});

/** Status, end, time of reading. */
async function standing(id: string): Promise<unknown[]> {
  const row = await one<{ status: number; doneAt: Date; readAt: Date }>(
    pool,
    sql`SELECT status, done_at AS "doneAt", read_at AS "readAt" FROM message_state WHERE id = ${id}`,
  );
  return [row.status, row.doneAt, row.readAt];
}
const figures = () =>
  one(
    pool,
    sql`SELECT sum(delivered)::int AS delivered, sum(read)::int AS read, sum(failed)::int AS failed FROM traffic_hour`,
  );
const told = async (): Promise<string[]> => {
  const rows = await many<{ kind: string; status: number | null }>(
    pool,
    sql`SELECT kind, status FROM webhook_outbox WHERE status IS DISTINCT FROM ${STATUS.ACCEPTED} ORDER BY id`,
  );
  return rows.map(({ kind, status }) => `${kind} ${status ?? ''}`.trim());
};

const WAYS: Readonly<Record<string, readonly (readonly Said[])[]>> = {
  'READ after DELIVERED': [[['DELIVERED', AT]], [['READ', LATER]]],
  'both together': [
    [
      ['DELIVERED', AT],
      ['READ', LATER],
    ],
  ],
  'everything twice': [
    [['DELIVERED', AT]],
    [
      ['READ', LATER],
      ['READ', LATER],
    ],
    [
      ['DELIVERED', AT],
      ['READ', LATER],
    ],
  ],
};

test.each(Object.keys(WAYS))(
  '%s: delivered once, read once, each told and counted once, in this order',
  async (way) => {
    const id = await sent();
    for (const batch of WAYS[way] ?? []) await arrive(id, ...batch);
    expect(await standing(id)).toEqual([STATUS.DELIVERED, AT, LATER]);
    expect(await told()).toEqual(['DELIVERY 3', 'READ']);
    expect(await figures()).toEqual({ delivered: 1, read: 1, failed: 0 });
  },
);

test('READ alone means delivered as well, and a DELIVERED after it changes nothing', async () => {
  const id = await sent();
  await arrive(id, ['READ', LATER]);
  await arrive(id, ['DELIVERED', AT]);
  expect(await standing(id)).toEqual([STATUS.DELIVERED, LATER, LATER]);
  expect(await told()).toEqual(['DELIVERY 3', 'READ']);
  expect(await figures()).toEqual({ delivered: 1, read: 1, failed: 0 });
});

test('a failed message cannot be read', async () => {
  const id = await sent();
  await arrive(id, ['UNSUPPORTED', AT]);
  await arrive(id, ['READ', LATER]);
  expect(await standing(id)).toEqual([STATUS.UNSUPPORTED, AT, null]);
  expect(await told()).toEqual(['DELIVERY 11']);
  expect(await figures()).toEqual({ delivered: 0, read: 0, failed: 1 });
});

test('a time before the submit becomes that of the submit', async () => {
  const id = await sent();
  await arrive(id, ['READ', new Date(0)]);
  const { submittedAt } = (await statesOf(pool, [id])).get(id) ?? {};
  expect(await standing(id)).toEqual([STATUS.DELIVERED, submittedAt, submittedAt]);
});

test.each(['ERROR', 'DISABLED', 'UNSUPPORTED', 'CONVERSATION_CLOSED'] as const)(
  '%s is an end, told with its code',
  async (state) => {
    const id = await sent();
    await arrive(id, [state, AT]);
    expect(await standing(id)).toEqual([STATUS[state], AT, null]);
    expect(await told()).toEqual([`DELIVERY ${STATUS[state]}`]);
  },
);

test('workers with READ and DELIVERED of the same messages cannot deadlock', async () => {
  const ids = await Promise.all(Array.from({ length: 6 }, sent));
  const half = ids.map((id, n): [string, Said] => [id, n % 2 === 0 ? ['READ', LATER] : ['DELIVERED', AT]]);
  const other = half.map(([id, [state]]): [string, Said] => [
    id,
    state === 'READ' ? ['DELIVERED', AT] : ['READ', LATER],
  ]);
  const working = (list: readonly [string, Said][]) =>
    transaction(pool, (tx) =>
      receiveReceipts(
        tx,
        list.map(([messageId, said]) => arrived(messageId, null, said)),
      ),
    );
  for (let round = 0; round < 5; round++) await Promise.all([working(half), working(other.toReversed())]);
  expect(await figures()).toEqual({ delivered: 6, read: 6, failed: 0 });
});

test('the timeline shows each receipt with its text, and when the message was read', async () => {
  const id = await sent();
  await arrive(id, ['DELIVERED', AT]);
  await arrive(id, ['READ', LATER]);
  const kinds = (await findTimeline(pool, actor(accountId), id))?.events.map(({ kind }) => kind) ?? [];
  expect(kinds.filter((kind) => kind === 'RECEIPT')).toHaveLength(2);
  expect(kinds.at(-1)).toBe('READ');
});

test('a receipt that one part of a long message was read does not make the message read', async () => {
  const [id, other] = [await sent(), await sent()];
  await arrive(id, ['DELIVERED', AT]);
  await arriveFor(id, 1, [['READ', LATER]]);
  // In a batch that ends another message, times of reading are written.
  const together = [arrived(id, 1, ['READ', LATER]), arrived(other, null, ['READ', LATER])];
  await transaction(pool, (tx) => receiveReceipts(tx, together));
  expect([(await standing(id))[2], (await standing(other))[2]]).toEqual([null, LATER]);
});
