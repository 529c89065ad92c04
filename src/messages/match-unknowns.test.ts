import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { listUnknownIds, newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome, Receipt } from '../channels/carrier.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import { claimChunks, insertChunks, updateIntents } from '../dispatch/store.ts';
import { freeze } from '../money/credit.ts';
import { expireDeadlines, insertDeadlines } from './expiry.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { processReceipts, retryUnmatched } from './receipts.ts';
import { settleOutcomes } from './settle.ts';
import * as db from './unknown-outcomes.ts';
import { matchUnknowns, settleUnknown } from './unknown-outcomes.ts';

const { pool } = testDatabase();

const PRICE = 10;
const NO_ANSWER: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };

let accountId: number;
beforeAll(async () => {
  await exec(pool, sql`INSERT INTO connection (name, kind, settings, secret) VALUES ('main', 'smpp', '{}', '')`);
});
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE message, message_state, message_part, message_event, message_deadline, unknown_outcome, nameless_submit,
        dispatch_chunk, receipt_batch, receipt_unmatched`,
  );
  accountId = await createAccountWithCredit(pool, 1000);
});

const now = (): Date => new Date();

async function stored(more: Partial<NewMessage>): Promise<string> {
  const message = newMessage({ accountId, priceMicros: PRICE, ...more });
  await transaction(pool, async (tx) => {
    await insertMessages(tx, [message]);
    await freeze(tx, [{ accountId, micros: PRICE }], message.id);
  });
  return message.id;
}

const settle = (id: string, outcome: Outcome, more: Partial<Result> = {}): Promise<unknown> =>
  transaction(pool, (tx) => settleOutcomes(tx, [resultOf(id, outcome, { accountId, ...more })], false));

/** A message that connection 1 was given, to the number and sender of `receipt` by default. */
async function given(outcome: Outcome, more: Partial<NewMessage> = {}, result: Partial<Result> = {}): Promise<string> {
  const id = await stored(more);
  await settle(id, outcome, result);
  return id;
}

/** Receipts that arrive with ids that fit no message, and have been tried again. */
async function late(receipts: readonly Receipt[], connectionId = 1): Promise<void> {
  await insertReceiptBatches(pool, [{ connectionId, receipts }]);
  await processReceipts(pool, now);
  await tryAgain();
}
async function tryAgain(): Promise<void> {
  await exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = now()`);
  await retryUnmatched(pool, now);
}
const parked = async (): Promise<string[]> =>
  (await many<{ reason: string }>(pool, sql`SELECT reason FROM receipt_unmatched ORDER BY id`)).map((r) => r.reason);
const stateOf = async (id: string) => (await statesOf(pool, [id])).get(id);
const statusOf = async (id: string): Promise<number | undefined> => (await stateOf(id))?.status;

describe('the only unknown outcome that a stray receipt fits', () => {
  test('gets its id and its final state, and its price is earned', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-1')]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.DELIVERED, carrierId: 'LATE-1', errorText: null });
    expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: PRICE });
    expect([await listUnknownIds(pool), await parked()]).toEqual([new Set(), []]);
    expect(await many(pool, sql`SELECT kind FROM message_event ORDER BY id`)).toEqual([
      { kind: 'attempt' },
      { kind: 'settled' },
    ]);
  });

  test.each(['US.13491208655302741918', ''])(
    'is found by our own id, which some networks return, also when they name the person as %j',
    async (destination) => {
      const id = await given(NO_ANSWER);
      await late([receipt(id, { destination })]);
      expect([await statusOf(id), await parked()]).toEqual([STATUS.DELIVERED, []]);
    },
  );

  test('is found by our own id after a second send without a response', async () => {
    const id = await given(NO_ANSWER, {}, { resubmit: true });
    await settle(id, { ...NO_ANSWER, carrierIds: [id] }, { attempt: 2 });
    await late([receipt(id)]);
    expect([await statusOf(id), await parked()]).toEqual([STATUS.DELIVERED, []]);
  });

  test('is found by its id after an intermediate receipt', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-2', { state: 'ACCEPTED' })]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.ACCEPTED, carrierId: 'LATE-2' });
    expect(await listUnknownIds(pool)).toEqual(new Set());
    await late([receipt('LATE-2', { state: 'REJECTED' })]);
    expect(await statusOf(id)).toBe(STATUS.REJECTED);
    expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: PRICE });
  });

  test.each(['EXPIRED', 'REJECTED', 'UNDELIVERABLE'] as const)(
    'costs what it would have without a doubt when the receipt says %s, and nothing at a refundable price',
    async (state) => {
      await given(NO_ANSWER);
      await late([receipt('LATE-5', { state })]);
      expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: PRICE, available: 1000 - PRICE });
      await given(NO_ANSWER, { refundUndelivered: true });
      await late([receipt('LATE-6', { state })]);
      expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: PRICE, available: 1000 - PRICE });
    },
  );

  test.each([
    ['000000000000002591', '2591', 'a1f'],
    ['00000000000000000A1F', 'a1f', '2591'],
  ])('is found again when the carrier fills that id with zeros (%s) and then spells it as %s or %s', async (...ids) => {
    const [padded, ...others] = ids;
    for (const other of others) {
      const id = await given(NO_ANSWER);
      await late([receipt(padded, { state: 'ACCEPTED' })]);
      await late([receipt(other)]);
      expect(await statusOf(id)).toBe(STATUS.DELIVERED);
      await reset(pool, sql`TRUNCATE message, message_state`);
    }
  });

  test('is matched once by repeats of a receipt that spell its id differently', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('00000000000000000A1F', { state: 'ACCEPTED' }), receipt('2591')]);
    await tryAgain();
    expect([await statusOf(id), await parked()]).toEqual([STATUS.DELIVERED, []]);
  });

  test.each([
    ['a plus', '+351912345678', 'ACME'],
    ['an international prefix', '00351912345678', 'acme'],
    ['no sender', '351912345678', ''],
  ])('is found when the carrier writes the addresses with %s', async (_, destination, sender) => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-3', { destination, sender })]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('is found with any sender in the receipt when the carrier chose the sender', async () => {
    const id = await given(NO_ANSWER, { sender: '' });
    await late([receipt('LATE-4', { sender: '39000111' })]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('is found among messages to the same number whose ids are known', async () => {
    await given({ kind: 'accepted', carrierIds: ['KNOWN'] });
    await given({ kind: 'refused', status: 'REJECTED', code: 'X', text: 'no', carrierIds: [] });
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-5')]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('is settled by one of two repeats of a receipt, and the other finds it by its id', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-6'), receipt('LATE-6')]);
    await tryAgain();
    expect([await statusOf(id), await parked()]).toEqual([STATUS.DELIVERED, []]);
  });

  test('is the one whose own id the network returns, among others to the same number', async () => {
    const ids = [await given(NO_ANSWER), await given(NO_ANSWER)];
    const wamid = (n: number) => receipt(`wamid.${n}`, { carrierIds: [`wamid.${n}`, ids[n] ?? ''] });
    await late([wamid(1)]);
    expect([await statusOf(ids[0] ?? ''), await statusOf(ids[1] ?? '')]).toEqual([STATUS.UNKNOWN, STATUS.DELIVERED]);
    await late([wamid(0)]);
    expect(await stateOf(ids[0] ?? '')).toMatchObject({ status: STATUS.DELIVERED, carrierId: 'wamid.0' });
  });

  test('is settled by the receipt with our own id of it, although another receipt to the number came with it', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('foreign', { state: 'REJECTED' }), receipt('wamid.3', { carrierIds: ['wamid.3', id] })]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.DELIVERED, carrierId: 'wamid.3' });
    expect(await parked()).toEqual(['ambiguous']);
  });

  test('is a long message whose own id the network returns', async () => {
    const id = await given(NO_ANSWER, { parts: 2 });
    await late([receipt('SM1', { carrierIds: ['SM1', id] })]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.DELIVERED, carrierId: 'SM1' });
  });

  test('does not exist when the network returns an id of ours that none of the messages has', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('wamid.2', { carrierIds: ['wamid.2', newMessage({ accountId }).id] })]);
    expect(await statusOf(id)).toBe(STATUS.UNKNOWN);
  });

  test('is settled once when two workers try at the same time', async () => {
    const id = await given(NO_ANSWER);
    await Promise.all([
      transaction(pool, (tx) => db.moveToAccepted(tx, [{ accountId, messageId: id, carrierId: 'C' }])),
      transaction(pool, (tx) => db.moveToAccepted(tx, [{ accountId, messageId: id, carrierId: 'D' }])),
    ]).then((moved) => expect(moved.map((ids) => ids.size).sort()).toEqual([0, 1]));
  });
});

describe('a stray receipt settles nothing', () => {
  test('when two unknown outcomes fit', async () => {
    const ids = [await given(NO_ANSWER), await given(NO_ANSWER)];
    await late([receipt('LATE')]);
    expect([await statusOf(ids[0] ?? ''), await statusOf(ids[1] ?? ''), await parked()]).toEqual([0, 0, ['ambiguous']]);
  });

  test('when receipts with two ids fit the same unknown outcome', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE-A'), receipt('LATE-B')]);
    expect([await statusOf(id), await parked()]).toEqual([0, ['ambiguous', 'ambiguous']]);
  });

  test.each<[string, Partial<Receipt>]>([
    ['another number', { destination: '351912345679' }],
    ['another sender', { sender: 'OTHER' }],
  ])('of %s', async (_, more) => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE', more)]);
    expect([await statusOf(id), await parked()]).toEqual([0, ['unknown']]);
  });

  test('of another connection', async () => {
    const id = await given(NO_ANSWER);
    await late([receipt('LATE')], 2);
    expect(await statusOf(id)).toBe(0);
  });

  test('that came before the message was accepted, or days after its validity', async () => {
    const id = await given(NO_ANSWER);
    for (const away of ['-1 minute', '6 days']) {
      await late([receipt('LATE', { sender: 'nobody yet' })]);
      await exec(
        pool,
        sql`UPDATE receipt_unmatched SET received_at = now() + ${away}::interval,
                                                        receipt = replace(receipt::text, 'nobody yet', 'ACME')::json`,
      );
      await tryAgain();
      expect([away, await statusOf(id), await parked()]).toEqual([away, 0, ['unknown']]);
      await reset(pool, sql`TRUNCATE receipt_unmatched`);
    }
  });

  test('for a long message without its id: it cannot be known which part it reports on', async () => {
    const id = await given(NO_ANSWER, { parts: 2 });
    await late([receipt('LATE')]);
    expect([await statusOf(id), await parked()]).toEqual([0, ['ambiguous']]);
  });

  test('while another message to the number is on its way, and settles it once that one’s id is known', async () => {
    const id = await given(NO_ANSWER);
    const other = await stored({});
    await insertChunks(pool, [{ accountId, connectionId: 1, priority: 0, availableAt: null, ids: [other] }]);
    const [chunk] = await claimChunks(pool, { connectionId: 1, owner: 7, messages: 1, belowPriority: 9 });
    await updateIntents(pool, { owner: 7, intents: new Map([[chunk?.id ?? 0, 1]]) });
    await late([receipt('LATE')]);
    expect([await statusOf(id), await parked()]).toEqual([0, ['unknown']]);
    await exec(pool, sql`DELETE FROM dispatch_chunk`);
    await settle(other, { kind: 'accepted', carrierIds: ['OTHER'] });
    await tryAgain();
    expect([await statusOf(id), await parked()]).toEqual([STATUS.DELIVERED, []]);
  });

  test('when it belongs to a message on its way, which it matches once that one’s id is known', async () => {
    const id = await given(NO_ANSWER);
    const other = await stored({});
    await insertChunks(pool, [{ accountId, connectionId: 1, priority: 0, availableAt: null, ids: [other] }]);
    const [chunk] = await claimChunks(pool, { connectionId: 1, owner: 7, messages: 1, belowPriority: 9 });
    await updateIntents(pool, { owner: 7, intents: new Map([[chunk?.id ?? 0, 1]]) });
    await late([receipt('EARLY')]);
    await settle(other, { kind: 'accepted', carrierIds: ['EARLY'] });
    await tryAgain();
    expect([await statusOf(id), await statusOf(other)]).toEqual([STATUS.UNKNOWN, STATUS.DELIVERED]);
  });

  test('whose message is recorded between the first search and the second', async () => {
    const id = await given(NO_ANSWER);
    const stray = { receipt: receipt('EARLY'), receivedAt: now() };
    const named = await transaction(pool, (tx) => matchUnknowns(tx, 1, [stray], async () => [false]));
    expect([named, await statusOf(id)]).toEqual([[{ kind: 'unknown' }], STATUS.UNKNOWN]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['was sent again', () => given(NO_ANSWER, {}, { resubmit: true })],
    ['was accepted without an id', () => given({ kind: 'accepted', carrierIds: [''] })],
    [
      'has expired',
      async () => {
        const ids = [await given(NO_ANSWER)];
        await insertDeadlines(pool, [{ accountId, dueAt: new Date(Date.now() - 1), ids }]);
        await expireDeadlines(pool, now);
      },
    ],
    [
      'a person has settled',
      async () => settleUnknown(pool, { messageId: await given(NO_ANSWER), as: 'rejected', by: 'op' }, now()),
    ],
  ])('while it may mean a message to the number that %s', async (_, another) => {
    await another();
    const id = await given(NO_ANSWER);
    await late([receipt('LATE')]);
    expect([await statusOf(id), await parked()]).toEqual([0, ['ambiguous']]);
    expect(await db.deleteOldNameless(pool, 9)).toBe(0);
    await exec(pool, sql`UPDATE nameless_submit SET valid_until = now() - interval '10 days'`);
    expect(await db.deleteOldNameless(pool, 9)).toBe(1);
  });
});

test('a long message with an accepted part is not sent again, nor is one whose connection was removed', async () => {
  const part = await given({ ...NO_ANSWER, carrierIds: ['P1'] }, { parts: 2 });
  const gone = await given(NO_ANSWER, {}, { connectionId: 99 });
  for (const messageId of [part, gone])
    await expect(settleUnknown(pool, { messageId, as: 'not-sent', by: 'op' }, now())).rejects.toMatchObject({
      code: 'conflict',
    });
  expect(await listUnknownIds(pool)).toEqual(new Set([part, gone]));
  const listed = await db.listUnknowns(pool, { accountId, connectionId: 99, limit: 10 });
  expect(listed).toMatchObject([{ messageId: gone, connection: null, destination: '351912345678', sender: 'ACME' }]);
});
