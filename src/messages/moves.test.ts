import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome } from '../channels/carrier.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { endMessages } from './end.ts';
import { loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { settleOutcomes } from './settle.ts';
import * as db from './store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, message_event, message_fallback, unknown_outcome`));

const stateRow = (id: string, more: Partial<db.NewState> = {}): db.NewState => ({
  accountId: 1,
  id,
  status: STATUS.ACCEPTED,
  attempts: 1,
  connectionId: 1,
  carrierId: 'A1',
  submittedAt: new Date(),
  errorCode: null,
  errorText: null,
  possibleDuplicate: false,
  creditHeld: false,
  creditReturned: false,
  channel: 'SMS',
  campaignId: null,
  ...more,
});

/** Stores messages with their states; returns their ids in ascending order. */
async function accepted(...more: Partial<db.NewState>[]): Promise<string[]> {
  const messages = more.map(() => newMessage());
  await insertMessages(pool, messages);
  const ids = messages.map(({ id }) => id).sort();
  await db.insertStates(
    pool,
    ids.map((id, n) => stateRow(id, more[n])),
  );
  return ids;
}

const moveOf = (id: string, more: Partial<db.StateMove> = {}): db.StateMove => ({
  accountId: 1,
  id,
  status: STATUS.DELIVERED,
  doneAt: null,
  errorCode: null,
  errorText: null,
  ...more,
});
const bounds = (ids: readonly string[]) => ({ firstId: ids[0] ?? '', lastId: ids.at(-1) ?? '' });
const statusesOf = async (ids: readonly string[]): Promise<(number | undefined)[]> => {
  const states = await statesOf(pool, ids);
  return ids.map((id) => states.get(id)?.status);
};

describe('of three messages in a row, what concerns the first and the last', () => {
  test('moves those two', async () => {
    const ids = await accepted({}, {}, {});
    const [first = '', , last = ''] = ids;
    expect(await db.moveStates(pool, { moves: [moveOf(first), moveOf(last)], ...bounds(ids) })).toEqual([]);
    expect(await statusesOf(ids)).toEqual([STATUS.DELIVERED, STATUS.ACCEPTED, STATUS.DELIVERED]);
  });

  test('dates the reading of those two', async () => {
    const ids = await accepted(...Array<object>(3).fill({ status: STATUS.DELIVERED }));
    const [first = '', , last = ''] = ids;
    const reads = [first, last].map((id) => ({ accountId: 1, id, readAt: new Date() }));
    const recorded = await db.updateReadTimes(pool, { reads, ...bounds(ids) });
    expect(recorded.map(({ id }) => id).sort()).toEqual([first, last]);
  });

  test('looks up those two', async () => {
    const ids = await accepted({}, {}, {});
    const [first = '', , last = ''] = ids;
    const keys = [first, last].map((id) => ({ accountId: 1, id }));
    const found = [await db.listTraits(pool, keys), await db.listCharges(pool, keys)];
    expect(found.map((rows) => rows.map(({ id }) => id).sort())).toEqual([
      [first, last],
      [first, last],
    ]);
    const queued = await db.listQueuedMessages(pool, { messages: keys, ...bounds(ids) });
    expect(queued.map(([n]) => n).sort()).toEqual([0, 1]);
  });
});

test('nothing of an account is moved, dated or looked up in the name of another, not even by its id', async () => {
  const [id = ''] = await accepted({});
  const [delivered = ''] = await accepted({ status: STATUS.DELIVERED });
  const keys = [{ accountId: 2, id }];
  await db.moveStates(pool, { moves: [moveOf(id, { accountId: 2 })], ...bounds([id]) });
  const reads = [{ accountId: 2, id: delivered, readAt: new Date() }];
  expect([
    await statusesOf([id]),
    await db.updateReadTimes(pool, { reads, ...bounds([delivered]) }),
    await db.listTraits(pool, keys),
    await db.listQueuedMessages(pool, { messages: keys, ...bounds([id]) }),
  ]).toEqual([[STATUS.ACCEPTED], [], [], []]);
});

describe('a move needs further work', () => {
  test.each([
    ['of an SMS that a carrier has', {}, []],
    ['of a message that no carrier has', { submittedAt: null }, [{ wasSent: false }]],
    ['on another channel', { channel: 'RCS' }, [{ channel: 2, campaignId: null }]],
    ['of a campaign', { campaignId: 7 }, [{ campaignId: 7 }]],
    ['with a frozen price', { creditHeld: true }, [{ held: true }]],
  ] as const)('%s', async (_, more, groups) => {
    const [id = ''] = await accepted(more);
    expect(await db.moveStates(pool, { moves: [moveOf(id)], ...bounds([id]) })).toMatchObject(groups);
    expect(await statusesOf([id])).toEqual([STATUS.DELIVERED]);
  });

  test('when it does not happen, because the state is final for another reason than our timer', async () => {
    for (const status of [STATUS.REJECTED, STATUS.UNDELIVERABLE]) {
      const [id = ''] = await accepted({ status, errorCode: db.EXPIRED_BY_US });
      const groups = await db.moveStates(pool, { moves: [moveOf(id)], ...bounds([id]) });
      expect([groups, await statusesOf([id])]).toMatchObject([[{ moved: false }], [status]]);
    }
  });
});

describe('a repeated outcome', () => {
  const UNKNOWN = { status: STATUS.UNKNOWN, carrierId: null };
  const REFUSED = { status: STATUS.REJECTED, submittedAt: null, carrierId: null };
  const WAITING = { status: STATUS.ACCEPTED, submittedAt: null, carrierId: null };
  test.each([
    ['of a new message that the carrier took counts as sent', null, {}, 1],
    ['of a new message that is refused counts as sent', null, REFUSED, 1],
    ['of a new message that has to wait does not', null, WAITING, 0],
    ['that takes the message after it had to wait counts as sent', WAITING, { attempts: 2 }, 1],
    ['that replaces an unknown one counts no second time', UNKNOWN, {}, 0],
    ['that refuses what was unknown counts no second time', UNKNOWN, REFUSED, 0],
    ['that has what was unknown wait takes its count back', UNKNOWN, WAITING, -1],
    ['that is unknown again changes nothing', UNKNOWN, UNKNOWN, undefined],
    ['of an earlier attempt changes nothing', { ...UNKNOWN, attempts: 2 }, {}, undefined],
    ['of the same attempt changes nothing once it is known', {}, REFUSED, undefined],
    ['of a later attempt changes no final state', REFUSED, { attempts: 2 }, undefined],
  ] as const)('%s', async (_, before, outcome, sent) => {
    const message = newMessage();
    await insertMessages(pool, [message]);
    if (before !== null) await db.insertStates(pool, [stateRow(message.id, before)]);
    expect((await db.moveOutcomes(pool, [stateRow(message.id, outcome)])).get(message.id)?.sent).toBe(sent);
  });

  test('keeps that a message may have been sent twice', async () => {
    const isDuplicate = async (id: string) =>
      (await one<{ twice: boolean }>(pool, sql`SELECT possible_duplicate AS twice FROM message_state WHERE id = ${id}`))
        .twice;
    const [id = ''] = await accepted({ possibleDuplicate: true });
    await db.moveOutcomes(pool, [stateRow(id, { attempts: 2 })]);
    expect(await isDuplicate(id)).toBe(true);
  });
});

describe('a fallback becomes due', () => {
  const REFUSED: Outcome = { kind: 'refused', status: 'REJECTED', code: '8', text: 'no', carrierIds: [] };
  const ACCEPTED: Outcome = { kind: 'accepted', carrierIds: ['A1'] };

  /** Stores a message with a fallback that waits; returns its id. */
  async function withFallback(more: Partial<NewMessage>): Promise<string> {
    const message = newMessage(more);
    await insertMessages(pool, [message]);
    await exec(
      pool,
      sql`INSERT INTO message_fallback (account_id, message_id, next_channels, due_at)
          VALUES (1, ${message.id}, '[]', 'infinity')`,
    );
    return message.id;
  }
  const dueIds = async (): Promise<string[]> =>
    (await many<{ id: string }>(pool, sql`SELECT message_id AS id FROM message_fallback WHERE due_at <= now()`)).map(
      ({ id }) => id,
    );
  const settle = async (messageId: string, outcome: Outcome): Promise<void> => {
    const chunk = { accountId: 1, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
    const jobs = await loadJobs(pool, [{ ...chunk, id: 1, onUnknown: 'hold', campaignId: null, ids: [messageId] }]);
    const job = jobs[0]?.[0] ?? null;
    await transaction(pool, (tx) => settleOutcomes(tx, [resultOf(messageId, outcome, { job })], false));
  };

  test('when the carrier refuses a single send on a channel other than SMS, and in no other case', async () => {
    const [single, campaign, sms, taken] = [
      await withFallback({ channel: 'RCS' }),
      await withFallback({ channel: 'RCS', campaignId: 7 }),
      await withFallback({ channel: 'SMS' }),
      await withFallback({ channel: 'RCS' }),
    ];
    for (const id of [single, campaign, sms]) await settle(id, REFUSED);
    await settle(taken, ACCEPTED);
    expect(await dueIds()).toEqual([single]);
  });

  test('when a single send on a channel other than SMS ends for the first time, and in no other case', async () => {
    const [single, campaign, sms, ended] = [
      await withFallback({ channel: 'RCS' }),
      await withFallback({ channel: 'RCS', campaignId: 7 }),
      await withFallback({ channel: 'SMS' }),
      await withFallback({ channel: 'RCS' }),
    ];
    await db.insertStates(pool, [
      stateRow(single, { channel: 'RCS' }),
      stateRow(campaign, { channel: 'RCS', campaignId: 7 }),
      stateRow(sms),
      stateRow(ended, { channel: 'RCS', status: STATUS.REJECTED }),
    ]);
    const ids = [single, campaign, sms, ended].sort();
    const moves = ids.map((id) => moveOf(id, { status: STATUS.UNDELIVERABLE }));
    expect(await transaction(pool, (tx) => endMessages(tx, moves))).toEqual(new Set([ended]));
    expect(await dueIds()).toEqual([single]);
  });
});
