import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import type { Receipt } from '../channels/carrier.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertFallbacks } from './fallback-store.ts';
import { jobOf } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';

const { pool } = testDatabase();
let accountId: number;
beforeEach(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
  await pool.query('DELETE FROM dispatch_chunk');
});

/** The message is sent for the `attempt`th time, and Meta reports that the person gets too much marketing. */
async function sendAndHold(message: NewMessage, attempt: number): Promise<void> {
  const outcome = { kind: 'accepted', carrierIds: [`wamid.${message.id}.${attempt}`] } as const;
  const result = resultOf(message.id, outcome, { accountId, attempt, job: jobOf(message) });
  await transaction(pool, (tx) => settleOutcomes(tx, [result], false));
  await hold(message, attempt);
}

async function hold({ id: messageId }: NewMessage, attempt: number): Promise<void> {
  const receipt: Receipt = {
    carrierIds: [`wamid.${messageId}.${attempt}`],
    state: 'ERROR',
    doneAt: null,
    errorCode: '131049',
    destination: '',
    sender: '',
    raw: '131049 held',
  };
  const matched = { accountId, messageId, part: null, connectionId: 1, receipt, receivedAt: new Date() };
  await transaction(pool, (tx) => receiveReceipts(tx, [matched]));
}

const whatsapp = async (more: Partial<NewMessage> = {}) => {
  const message = newMessage({ accountId, channel: 'WHATSAPP', ...more });
  await insertMessages(pool, [message]);
  return message;
};
const stateOf = async ({ id }: NewMessage) => {
  const { rows } = await pool.query('SELECT status, error_code AS code FROM message_state WHERE id = $1', [id]);
  return rows[0];
};
const queued = async () =>
  (
    await pool.query(
      'SELECT attempt, round(extract(epoch FROM available_at - now()) / 3600)::int AS hours FROM dispatch_chunk ORDER BY id',
    )
  ).rows;

const days = (count: number) => new Date(Date.now() + count * 86_400_000);

test('marketing that Meta holds from a person is sent again after 24 hours, at most twice, and a repeated report changes nothing', async () => {
  const message = await whatsapp({ validUntil: days(7) });
  await sendAndHold(message, 1);
  await hold(message, 1);
  expect(await queued()).toEqual([{ attempt: 1, hours: 24 }]);
  expect(await stateOf(message)).toEqual({ status: 1, code: '131049' });
  await sendAndHold(message, 2);
  await hold(message, 2);
  expect(await queued()).toMatchObject([{ attempt: 1 }, { attempt: 2, hours: 24 }]);
  await sendAndHold(message, 3);
  expect(await queued()).toHaveLength(2);
  expect(await stateOf(message)).toEqual({ status: 9, code: '131049' });
});

test('it fails at once if it goes to another channel instead, is not valid for so long, or its price was earned', async () => {
  const fallback = await whatsapp();
  await insertFallbacks(pool, [{ accountId, id: fallback.id, from: null, nextChannels: [] }]);
  const others = [
    await whatsapp({ validUntil: days(0.5) }),
    await whatsapp({ priceMicros: 5, refundUndelivered: false }),
    await whatsapp({ keepsReserve: true }),
  ];
  for (const message of [fallback, ...others]) {
    await sendAndHold(message, 1);
    expect(await stateOf(message)).toMatchObject({ status: 9 });
  }
  expect(await queued()).toEqual([]);
});
