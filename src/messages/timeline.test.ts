import { beforeAll, describe, expect, test } from 'vitest';
import { retry } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome, Receipt } from '../channels/carrier.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import type { Chunk } from '../dispatch/store.ts';
import { endMessages } from './end.ts';
import { loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { processReceipts } from './receipts.ts';
import { settleOutcomes } from './settle.ts';
import { findNetworkStatus, type TimelineEvent } from './status.ts';
import { EXPIRED_BY_US } from './store.ts';
import { findTimeline } from './timeline.ts';

const { pool } = testDatabase();

let accountId: number;
let keyId: number;
let connections: number[];
beforeAll(async () => {
  accountId = await createAccountWithCredit(pool, 0);
  keyId = (await one<{ id: number }>(pool, sql`SELECT id FROM api_key WHERE account_id = ${accountId}`)).id;
  const made = await many<{ id: number }>(
    pool,
    sql`INSERT INTO connection (name, kind, settings, secret) VALUES ('main', 'smpp', '{}', ''), ('spare', 'smpp', '{}', '')
        RETURNING id`,
  );
  connections = made.map(({ id }) => id);
});

/** A message with a price of 0.02 in all. */
async function stored(more: Partial<NewMessage> = {}): Promise<NewMessage> {
  const message = newMessage({
    accountId,
    connectionId: connections[0] ?? 0,
    priceMicros: 20_000,
    apiKeyId: keyId,
    ...more,
  });
  await insertMessages(pool, [message]);
  return message;
}

const chunkOf = ({ id }: NewMessage): Chunk => ({
  id: 1,
  accountId,
  priority: 0,
  round: 0,
  attempt: 0,
  tries: 0,
  intent: 0,
  alternates: [],
  onUnknown: 'hold',
  campaignId: null,
  ids: [id],
});

/** An attempt over the connection with this number. */
async function attempt(message: NewMessage, outcome: Outcome, more: Partial<Result> = {}, on = 0): Promise<void> {
  const job = (await loadJobs(pool, [chunkOf(message)]))[0]?.[0] ?? null;
  const result = resultOf(message.id, outcome, { accountId, connectionId: connections[on] ?? 0, ...more, job });
  await transaction(pool, (tx) => settleOutcomes(tx, [result], result.attempt > 1));
}

const taken = (...carrierIds: string[]): Extract<Outcome, { kind: 'accepted' }> => ({ kind: 'accepted', carrierIds });

async function arrive(receipts: readonly Receipt[], on = 0): Promise<void> {
  await insertReceiptBatches(pool, [{ connectionId: connections[on] ?? 0, receipts }]);
  while ((await processReceipts(pool, () => new Date())) > 0);
}

async function eventsOf({ id }: { readonly id: string }): Promise<TimelineEvent[]> {
  const timeline = await findTimeline(pool, actor(accountId), id);
  if (!timeline) throw new Error(`no timeline of ${id}`);
  const times = timeline.events.map(({ at }) => at);
  expect(times.slice(1).every((at, i) => at >= (times[i] ?? ''))).toBe(true);
  return timeline.events;
}

test('a caller without the scope money sees the same events without amounts', async () => {
  const message = await stored();
  await attempt(message, taken('C0'));
  const shown = await eventsOf(message);
  expect(shown.some(({ amount, currency }) => amount !== undefined && currency !== undefined)).toBe(true);
  const poor = { accountId, operations: new Set(['tracking'] as const) };
  const hidden = (await findTimeline(pool, poor, message.id))?.events;
  expect(hidden).toEqual(shown.map(({ amount: _amount, currency: _currency, ...event }) => event));
});

/** One line an event: its kind and its text. */
const lines = (events: readonly TimelineEvent[]): string[] =>
  events.map(({ kind, attempt: n, outcome, status, part, connection, code, carrierIds, text }) =>
    [kind, n, outcome, status, part && `part ${part}`, connection, code, carrierIds?.join('+'), text]
      .filter(Boolean)
      .join(' '),
  );

const FROZEN = 'PRICED reserved; charged when a carrier accepts it';
const beginning = (): string[] => [
  `ACCEPTED by API key ${keyId} (first key)`,
  FROZEN,
  'QUEUED main waiting in the queue',
];

describe('the usual way', () => {
  test('follows from the message and its state alone, with the text of the receipt', async () => {
    const message = await stored();
    await attempt(message, taken('C1'));
    await arrive([receipt('C1', { raw: 'id:C1 stat:DELIVRD err:000', errorCode: '000' })]);
    const events = await eventsOf(message);
    expect(lines(events)).toEqual([
      ...beginning(),
      'ATTEMPT 1 ACCEPTED main C1',
      'CREDIT charged',
      'RECEIPT DELIVERED main 000 id:C1 stat:DELIVRD err:000',
      'FINAL DELIVERED 000',
    ]);
    expect(events.find(({ kind }) => kind === 'PRICED')).toMatchObject({ parts: 1, amount: 0.02, currency: 'EUR' });
    expect(await many(pool, sql`SELECT FROM message_event WHERE message_id = ${message.id}`)).toEqual([]);
  });

  test('of a long message shows each part with its own receipt', async () => {
    const message = await stored({ parts: 2 });
    await attempt(message, taken('P1', 'P2'));
    await arrive([receipt('P2', { raw: 'two' }), receipt('P1', { raw: 'one' })]);
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 ACCEPTED main P1+P2',
      'CREDIT charged',
      'RECEIPT DELIVERED part 1 main one',
      'RECEIPT DELIVERED part 2 main two',
      'FINAL DELIVERED',
    ]);
    expect(await many(pool, sql`SELECT FROM message_event WHERE message_id = ${message.id}`)).toEqual([]);
  });

  test('says that the network holds a message back, and the network’s status is RECEIVED until it is sent', async () => {
    const message = await stored({ channel: 'WHATSAPP' });
    const statusOf = async () => (await findNetworkStatus(pool, { accountId }, message))?.status;
    await attempt(message, { ...taken('wamid.1'), held: 'held_for_quality_assessment' });
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 ACCEPTED main wamid.1',
      'HELD main held_for_quality_assessment',
      'CREDIT charged',
    ]);
    expect(await statusOf()).toBe('RECEIVED');
    await arrive([receipt('wamid.1', { state: 'ACCEPTED' })]);
    expect(await statusOf()).toBe('SENT');
    await arrive([receipt('wamid.1')]);
    expect(await statusOf()).toBe('DELIVERED');
  });

  test('shows a message that waits before the first attempt, for its turn or its time', async () => {
    expect(lines(await eventsOf(await stored()))).toEqual(beginning());
    const scheduledAt = new Date('2030-01-01T00:00:00Z');
    const events = lines(await eventsOf(await stored({ scheduledAt, priceMicros: 0, apiKeyId: null })));
    expect(events).toEqual([
      'ACCEPTED by the program',
      'PRICED free',
      'SCHEDULED main not before 2030-01-01T00:00:00.000Z',
    ]);
  });

  test('names the person who sent it', async () => {
    const person = await one<{ id: number; username: string }>(
      pool,
      sql`SELECT id, username FROM app_user WHERE account_id = ${accountId}`,
    );
    const message = await stored({ apiKeyId: null, userId: person.id });
    expect(lines(await eventsOf(message))[0]).toBe(`ACCEPTED by user ${person.username}`);
  });
});

describe('other cases', () => {
  test('shows every attempt, with the responses that later ones replaced, and where it was made', async () => {
    const message = await stored();
    await attempt(message, retry(10, false, 'ESME_RTHROTTLED'));
    await attempt(message, retry(10, true, 'ESME_RSYSERR'), { attempt: 2 });
    await attempt(message, taken('C2'), { attempt: 3 }, 1);
    await arrive([receipt('C2', { raw: 'fine' })], 1);
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 RETRY main ESME_RTHROTTLED later',
      'ATTEMPT 2 RETRY main ESME_RSYSERR later',
      'ATTEMPT 3 ACCEPTED spare C2',
      'CREDIT charged',
      'RECEIPT DELIVERED spare fine',
      'FINAL DELIVERED',
    ]);
  });

  test('shows a refusal, and that the price was returned', async () => {
    const message = await stored();
    await attempt(message, {
      kind: 'refused',
      status: 'UNDELIVERABLE',
      code: 'ESME_RINVDSTADR',
      text: 'bad',
      carrierIds: [],
    });
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 REFUSED main ESME_RINVDSTADR bad',
      'FINAL UNDELIVERABLE ESME_RINVDSTADR bad',
      'CREDIT returned',
    ]);
  });

  test('shows an unknown outcome and what was decided about it later', async () => {
    const message = await stored();
    await attempt(message, { kind: 'unknown', text: 'no response', carrierIds: [] });
    expect(lines(await eventsOf(message)).slice(3)).toEqual(['ATTEMPT 1 UNKNOWN main no response']);
    await transaction(pool, (tx) =>
      endMessages(tx, [
        { accountId, id: message.id, status: STATUS.DELIVERED, doneAt: null, errorCode: null, errorText: null },
      ]),
    );
    expect(lines(await eventsOf(message)).slice(4)).toEqual(['FINAL DELIVERED', 'CREDIT charged']);
  });

  test('shows an unknown outcome that became known', async () => {
    const message = await stored();
    await attempt(message, { kind: 'unknown', text: 'the worker stopped', carrierIds: [] });
    const result = resultOf(message.id, taken('C3'), { accountId, connectionId: connections[0] ?? 0 });
    const noted = Date.now();
    await until('the clock moves on', () => Date.now() > noted);
    await transaction(pool, (tx) => settleOutcomes(tx, [result], true));
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 UNKNOWN main the worker stopped',
      'ATTEMPT 1 ACCEPTED main C3',
      'CREDIT charged',
    ]);
  });

  test('shows every receipt: intermediate, repeated in one batch and later, late and contradictory', async () => {
    const message = await stored();
    await attempt(message, taken('C4'));
    await arrive([receipt('C4', { state: 'ACCEPTED', raw: 'enroute' })]);
    await arrive([receipt('C4', { raw: 'delivered' }), receipt('C4', { raw: 'delivered again' })]);
    await arrive([receipt('C4', { state: 'UNDELIVERABLE', raw: 'no, it was not', errorCode: '7' })]);
    const said = (await eventsOf(message)).filter(({ kind }) => kind === 'RECEIPT');
    expect(lines(said).sort()).toEqual([
      'RECEIPT ACCEPTED main enroute',
      'RECEIPT DELIVERED main delivered',
      'RECEIPT DELIVERED main delivered again',
      'RECEIPT UNDELIVERABLE main 7 no, it was not',
    ]);
    expect(lines(await eventsOf(message))).toContain('FINAL DELIVERED');
  });

  test('shows the receipts of parts that change nothing as well', async () => {
    const message = await stored({ parts: 2 });
    await attempt(message, taken('Q1', 'Q2'));
    await arrive([receipt('Q1', { state: 'REJECTED', raw: 'one: no' }), receipt('Q1', { raw: 'one: yes' })]);
    await arrive([receipt('Q2', { raw: 'two: yes' })]);
    const said = (await eventsOf(message)).filter(({ kind }) => kind === 'RECEIPT');
    expect(lines(said).sort()).toEqual([
      'RECEIPT DELIVERED part 1 main one: yes',
      'RECEIPT DELIVERED part 2 main two: yes',
      'RECEIPT REJECTED part 1 main one: no',
    ]);
  });

  test('shows our own final state when the carrier reports after it, and that credit moved once', async () => {
    const message = await stored({ refundUndelivered: true });
    await attempt(message, taken('C5'));
    await transaction(pool, (tx) =>
      endMessages(tx, [
        {
          accountId,
          id: message.id,
          status: STATUS.EXPIRED,
          doneAt: null,
          errorCode: EXPIRED_BY_US,
          errorText: 'too late',
        },
      ]),
    );
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 ACCEPTED main C5',
      `FINAL EXPIRED ${EXPIRED_BY_US} too late`,
      'CREDIT returned',
    ]);
    await arrive([receipt('C5', { raw: 'delivered' })]);
    expect(lines(await eventsOf(message)).slice(3)).toEqual([
      'ATTEMPT 1 ACCEPTED main C5',
      `FINAL EXPIRED ${EXPIRED_BY_US}`,
      'CREDIT returned',
      'RECEIPT DELIVERED main delivered',
      'FINAL DELIVERED',
    ]);
  });

  test.each([
    ['DELIVERED', 'charged'],
    ['UNDELIVERABLE', 'returned'],
  ] as const)('shows what became of a refundable price after %s', async (state, credit) => {
    const message = await stored({ refundUndelivered: true });
    await attempt(message, taken(`R${state}`));
    expect(lines(await eventsOf(message))[1]).toBe('PRICED reserved; returned if it is not delivered');
    expect(lines(await eventsOf(message)).join()).not.toContain('CREDIT');
    await arrive([receipt(`R${state}`, { state })]);
    expect(lines(await eventsOf(message)).at(-1)).toBe(`CREDIT ${credit}`);
  });
});

test('there is no timeline for another account’s message or an invalid id', async () => {
  const message = await stored();
  expect(await findTimeline(pool, actor(accountId + 1), message.id)).toBeUndefined();
  expect(await findTimeline(pool, actor(accountId), 'nonsense')).toBeUndefined();
});
