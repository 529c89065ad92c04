import { describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf, type StateRow, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import type { Receipt } from '../channels/carrier.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { endMessages } from './end.ts';
import { insertMessages } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';
import { EXPIRED_BY_US } from './store.ts';

const { pool } = testDatabase();

/** Stores a message that a carrier has accepted, and returns its id. */
async function createAccepted(): Promise<string> {
  const message = newMessage();
  await insertMessages(pool, [message]);
  await settleOutcomes(pool, [resultOf(message.id, { kind: 'accepted', carrierIds: ['A1'] })], false);
  return message.id;
}

/** Receives a receipt of the whole message in a separate transaction. */
async function receive(messageId: string, more: Partial<Receipt>, receivedAt = new Date()): Promise<void> {
  const matched = { accountId: 1, messageId, part: null, connectionId: 1, receipt: receipt('A1', more), receivedAt };
  await transaction(pool, (tx) => receiveReceipts(tx, [matched]));
}

const stateOf = async (id: string): Promise<StateRow | undefined> => (await statesOf(pool, [id])).get(id);

describe('a message that has expired', () => {
  test.each([
    ['with the code of the carrier', '003'],
    ['without a code', null],
  ])('according to the carrier, %s, stays so when the carrier later reports delivery', async (_, errorCode) => {
    const id = await createAccepted();
    await receive(id, { state: 'EXPIRED', errorCode });
    await receive(id, { state: 'DELIVERED' });
    expect(await stateOf(id)).toMatchObject({ status: STATUS.EXPIRED, errorCode });
  });

  test('by our own timer becomes what the carrier later reports only if that is delivery, and only once', async () => {
    const id = await createAccepted();
    const expired = { accountId: 1, id, status: STATUS.EXPIRED, doneAt: null, errorText: null };
    await transaction(pool, (tx) => endMessages(tx, [{ ...expired, errorCode: EXPIRED_BY_US }]));
    for (const [said, status] of [
      ['UNDELIVERABLE', STATUS.EXPIRED],
      ['DELIVERED', STATUS.DELIVERED],
      ['EXPIRED', STATUS.DELIVERED],
    ] as const) {
      await receive(id, { state: said });
      expect(await stateOf(id)).toMatchObject({ status });
    }
  });
});

describe('a receipt that gives only the minute', () => {
  const MINUTE = '2127-01-31T09:41:00.000Z';

  test.each([
    ['at its first instant', MINUTE, MINUTE],
    ['in its last millisecond', '2127-01-31T09:41:59.999Z', '2127-01-31T09:41:59.999Z'],
    ['exactly a minute later', '2127-01-31T09:42:00.000Z', MINUTE],
    ['a millisecond before it', '2127-01-31T09:40:59.999Z', MINUTE],
  ])('and comes %s is dated to its arrival only within that minute', async (_, receivedAt, doneAt) => {
    const id = await createAccepted();
    await receive(id, { doneAt: new Date(MINUTE) }, new Date(receivedAt));
    expect((await stateOf(id))?.doneAt).toEqual(new Date(doneAt));
  });
});
