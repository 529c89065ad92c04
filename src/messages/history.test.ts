import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome } from '../channels/carrier.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import type { Job } from '../dispatch/held.ts';
import { endMessages } from './end.ts';
import { listEvents } from './events.ts';
import { loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { type MatchedReceipt, receiveReceipts, settleOutcomes } from './settle.ts';
import { EXPIRED_BY_US } from './store.ts';

const { pool } = testDatabase();

beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE message, message_state, message_part, message_event, unknown_outcome, nameless_submit, campaign_outcome`,
  ),
);

const ACCEPTED: Outcome = { kind: 'accepted', carrierIds: ['A1'] };
const HELD: Outcome = { ...ACCEPTED, held: 'waits for the handset' };
const REFUSED: Outcome = { kind: 'refused', status: 'ERROR', code: '8', text: 'no', carrierIds: ['A1'] };
const RETRY: Outcome = { kind: 'retry', afterMs: 0, counts: true, code: '88', text: 'later' };
const UNKNOWN: Outcome = { kind: 'unknown', text: 'no response', carrierIds: ['A1'] };

async function store(more: Partial<NewMessage> = {}): Promise<{ id: string; job: Job | null }> {
  const message = newMessage(more);
  await insertMessages(pool, [message]);
  const chunk = { accountId: 1, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const jobs = await loadJobs(pool, [{ ...chunk, id: 1, onUnknown: 'hold', campaignId: null, ids: [message.id] }]);
  return { id: message.id, job: jobs[0]?.[0] ?? null };
}

/** Stores a message and settles its outcome; returns its id. */
async function settled(
  outcome: Outcome,
  { resubmit = false, ...more }: Partial<NewMessage & { resubmit: boolean }> = {},
) {
  const { id, job } = await store(more);
  await transaction(pool, (tx) => settleOutcomes(tx, [resultOf(id, outcome, { job, resubmit })], false));
  return id;
}
const eventsOf = async (messageId: string) =>
  (await listEvents(pool, { accountId: 1, messageId })).map(({ kind, text, details }) => ({ kind, text, details }));
const idsIn = async (table: 'nameless_submit' | 'unknown_outcome'): Promise<string[]> => {
  const rows = await many<{ id: string }>(
    pool,
    table === 'nameless_submit'
      ? sql`SELECT message_id AS id FROM nameless_submit`
      : sql`SELECT message_id AS id FROM unknown_outcome`,
  );
  return rows.map(({ id }) => id);
};

describe('the history of a message', () => {
  const attempt = (text: string, details: object) => [{ kind: 'attempt', text, details: { attempt: 1, ...details } }];
  test.each([
    ['has nothing of a plain acceptance', ACCEPTED, []],
    ['says why the network holds it', HELD, [{ kind: 'held', text: 'waits for the handset', details: {} }]],
    ['has a refusal with its code', REFUSED, attempt('no', { outcome: 'REFUSED', code: '8' })],
    ['has a retry with its code', RETRY, attempt('later', { outcome: 'RETRY', code: '88' })],
    [
      'has a missing response with the ids that came',
      UNKNOWN,
      attempt('no response', { outcome: 'UNKNOWN', carrierIds: ['A1'], possibleDuplicate: false }),
    ],
  ] as const)('%s', async (_, outcome, events) => {
    expect(await eventsOf(await settled(outcome))).toEqual(events);
  });

  test('has the receipts that moved nothing, in the order of their arrival, and no others', async () => {
    const id = await settled(ACCEPTED);
    const matched = (more: Partial<Parameters<typeof receipt>[1]>): MatchedReceipt => ({
      accountId: 1,
      messageId: id,
      part: null,
      connectionId: 1,
      receipt: receipt('A1', more),
      receivedAt: new Date(),
    });
    const receive = (...receipts: MatchedReceipt[]) => transaction(pool, (tx) => receiveReceipts(tx, receipts));
    await receive(matched({ state: 'ACCEPTED', raw: 'on its way' }));
    await receive(matched({ raw: 'first' }), matched({ raw: 'same batch' }));
    await receive(matched({ state: 'UNDELIVERABLE', errorCode: '7', raw: 'late' }));
    expect(await eventsOf(id)).toEqual([
      { kind: 'receipt', text: 'on its way', details: { status: STATUS.ACCEPTED } },
      { kind: 'receipt', text: 'same batch', details: { status: STATUS.DELIVERED } },
      { kind: 'receipt', text: 'late', details: { status: STATUS.UNDELIVERABLE, code: '7' } },
    ]);
  });

  test('says which part a repeated receipt is of', async () => {
    const id = await settled({ kind: 'accepted', carrierIds: ['A1', 'A2'] }, { parts: 2 });
    const second = { accountId: 1, messageId: id, part: 2, connectionId: 1, receivedAt: new Date() };
    for (const raw of ['moves', 'repeats'])
      await transaction(pool, (tx) => receiveReceipts(tx, [{ ...second, receipt: receipt('A2', { raw }) }]));
    expect(await eventsOf(id)).toEqual([
      { kind: 'receipt', text: 'repeats', details: { status: STATUS.DELIVERED, part: 2 } },
    ]);
  });

  test('has an end by our own timer that the carrier has replaced, and no end that stayed', async () => {
    const ids = [await settled(ACCEPTED), await settled(ACCEPTED)].sort();
    const [replaced = '', open = ''] = ids;
    const move = { accountId: 1, doneAt: null, errorText: null };
    const expired = { ...move, id: replaced, status: STATUS.EXPIRED, errorCode: EXPIRED_BY_US };
    await transaction(pool, (tx) => endMessages(tx, [expired]));
    const delivered = ids.map((id) => ({ ...move, id, status: STATUS.DELIVERED, errorCode: null }));
    await transaction(pool, (tx) => endMessages(tx, delivered));
    const details = { status: STATUS.EXPIRED, code: EXPIRED_BY_US };
    expect([await eventsOf(replaced), await eventsOf(open)]).toEqual([[{ kind: 'replaced', text: null, details }], []]);
  });
});

describe('the state of a message', () => {
  test.each([
    ['accepted', ACCEPTED, { code: null, text: null }],
    ['refused', REFUSED, { code: '8', text: 'no' }],
    ['to be repeated', RETRY, { code: '88', text: 'later' }],
    ['unanswered', UNKNOWN, { code: null, text: 'no response' }],
  ] as const)('that is %s has the error of its outcome', async (_, outcome, error) => {
    const id = await settled(outcome);
    const stored = await one(
      pool,
      sql`SELECT error_code AS code, error_text AS text FROM message_state WHERE id = ${id}`,
    );
    expect(stored).toEqual(error);
  });
});

describe('a submit that no receipt can settle', () => {
  test('is one without an id, of which no part has one, or one that is sent once more', async () => {
    const nameless = [
      await settled({ kind: 'accepted', carrierIds: [''] }),
      await settled({ kind: 'accepted', carrierIds: ['', ''] }, { parts: 2 }),
      await settled(UNKNOWN, { resubmit: true }),
    ];
    await settled(ACCEPTED);
    await settled({ kind: 'accepted', carrierIds: ['A1', ''] }, { parts: 2 });
    await settled(REFUSED);
    expect((await idsIn('nameless_submit')).sort()).toEqual(nameless.sort());
  });

  test('is no unknown outcome when it is sent once more', async () => {
    await settled(UNKNOWN, { resubmit: true });
    const held = await settled(UNKNOWN);
    expect(await idsIn('unknown_outcome')).toEqual([held]);
    const { reason } = await one<{ reason: string }>(pool, sql`SELECT reason FROM unknown_outcome`);
    expect(reason).toBe('no response');
  });
});

test('a campaign that combines channels learns of a refusal, and of nothing else', async () => {
  const combined = { campaignId: 7, keepsReserve: true };
  const refused = await settled(REFUSED, combined);
  await settled(ACCEPTED, combined);
  await settled(REFUSED, { campaignId: 7 });
  await settled(REFUSED);
  expect(await many(pool, sql`SELECT message_ids AS ids, statuses FROM campaign_outcome`)).toEqual([
    { ids: [refused], statuses: [STATUS.ERROR] },
  ]);
});

test('a campaign that combines channels learns of the first end of a message only', async () => {
  const id = await settled(ACCEPTED, { campaignId: 7, keepsReserve: true });
  const plain = await settled(ACCEPTED);
  const move = { accountId: 1, doneAt: null, errorText: null };
  for (const [status, errorCode] of [
    [STATUS.EXPIRED, EXPIRED_BY_US],
    [STATUS.DELIVERED, null],
    [STATUS.UNDELIVERABLE, null],
  ] as const) {
    const moves = [id, plain].sort().map((each) => ({ ...move, id: each, status, errorCode }));
    await transaction(pool, (tx) => endMessages(tx, moves));
  }
  expect(await many(pool, sql`SELECT message_ids AS ids, statuses FROM campaign_outcome`)).toEqual([
    { ids: [id], statuses: [STATUS.UNKNOWN] },
  ]);
});
