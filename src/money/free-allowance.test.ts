import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { resultOf } from '../../test/support/queue.ts';
import { burst, transaction } from '../core/db/transaction.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { jobOf } from '../messages/load.ts';
import { newMessage } from '../../test/support/queue.ts';
import type { Draft, Verdict } from '../messages/read-send.ts';
import { receiveReceipts, settleOutcomes } from '../messages/settle.ts';
import { createAccount } from '../operate/account-commands.ts';
import { pricing } from './pricing.ts';

const { pool } = testDatabase();

const PRICE = 40_000;
const rows = [
  { channel: 'WHATSAPP', prefix: '', unitMicros: PRICE, refundUndelivered: true },
  { channel: 'WHATSAPP', prefix: '', window: 'FREE', unitMicros: 0, refundUndelivered: true },
] as const;
const waker = { ...createWaker(pool), wake: () => undefined };
const acceptWith = (freeMessages: number): Accept =>
  createAccept({
    pool,
    tables: { ...freeOver(() => [1]), findPrice: pricing(rows), freeMessages },
    waker,
    recentMessages: null,
  });

let accountId: number;
let sender = 100;
beforeEach(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
  sender++;
});

const content = { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hi' } } } as const;
const answer = (more: Partial<Draft> = {}): Draft =>
  draft({ channel: 'WHATSAPP', destination: '+393331234567', sender: String(sender), content, ...more });
const template = { category: 'utility', callingCode: null, message: null, hasPlaceholders: false };

async function pricesOf(verdicts: readonly Verdict[]): Promise<number[]> {
  const ids = verdicts.map((verdict) => (verdict.kind === 'accepted' ? verdict.messageId : ''));
  const found = await pool.query('SELECT id, price_micros AS price FROM message WHERE account_id = $1', [accountId]);
  const byId = new Map(found.rows.map(({ id, price }) => [id, Number(price)]));
  return ids.map((id) => byId.get(id) ?? -1);
}
const used = async () =>
  Number((await pool.query('SELECT used FROM free_allowance WHERE sender = $1', [String(sender)])).rows[0]?.used ?? 0);

test('the first service messages of a number in a month are free, for all accounts together and at the same time', async () => {
  const accept = acceptWith(5);
  const other = await createAccount(pool, { name: 'Other', plan: 'unlimited' });
  await accept.many(actor(other.accountId), [answer(), answer()]);
  const verdicts = await Promise.all(Array.from({ length: 6 }, () => accept.one(actor(accountId), answer())));
  expect((await pricesOf(verdicts)).toSorted((a, b) => a - b)).toEqual([0, 0, 0, PRICE, PRICE, PRICE]);
  expect(await used()).toBe(5);
});

test('templates, other channels and an installation without an allowance count nothing', async () => {
  const verdicts = await acceptWith(5).many(actor(accountId), [answer({ template })]);
  expect(await pricesOf(verdicts)).toEqual([PRICE]);
  expect(await pricesOf(await acceptWith(0).many(actor(accountId), [answer()]))).toEqual([PRICE]);
  expect(await used()).toBe(0);
});

test('what is repeated counts once, and an account without credit sends as long as it is free', async () => {
  const accept = acceptWith(2);
  await pool.query('UPDATE credit_balance SET unlimited = false, available_micros = 0 WHERE account_id = $1', [
    accountId,
  ]);
  const send = (clientId: string) => accept.many(actor(accountId), [answer({ clientId })]);
  const [first] = await send('a');
  expect(await send('a')).toEqual([first]);
  expect(await send('b')).toMatchObject([{ kind: 'accepted' }]);
  expect(await send('c')).toMatchObject([{ kind: 'refused', refusal: 'no_credit' }]);
  expect(await used()).toBe(2);
});

test('a message that is rejected or not delivered gives its allowance back, once', async () => {
  const accept = acceptWith(2);
  const verdicts = await accept.many(actor(accountId), [answer(), answer()]);
  const [rejected = '', undelivered = ''] = verdicts.map((one) => (one.kind === 'accepted' ? one.messageId : ''));
  const job = (id: string) => jobOf(newMessage({ id, accountId, channel: 'WHATSAPP', refundUndelivered: true }));
  const outcome = { kind: 'refused', status: 'ERROR', code: '1', text: '', carrierIds: [] } as const;
  await burst(pool, (tx) => [
    settleOutcomes(tx, [resultOf(rejected, outcome, { accountId, job: job(rejected) })], false),
  ]);
  expect(await used()).toBe(1);
  const taken = { kind: 'accepted', carrierIds: ['wamid.1'] } as const;
  await burst(pool, (tx) => [
    settleOutcomes(tx, [resultOf(undelivered, taken, { accountId, job: job(undelivered) })], false),
  ]);
  const receipt = {
    carrierIds: ['wamid.1'],
    state: 'UNDELIVERABLE',
    doneAt: null,
    errorCode: null,
    destination: '',
    sender: '',
    raw: '',
  } as const;
  const matched = { accountId, messageId: undelivered, part: null, connectionId: 1, receipt, receivedAt: new Date() };
  for (let times = 0; times < 2; times++) await transaction(pool, (tx) => receiveReceipts(tx, [matched]));
  expect(await used()).toBe(0);
});
