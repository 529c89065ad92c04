import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { burst, transaction } from '../core/db/transaction.ts';
import { createWaker } from '../dispatch/pump.ts';
import { createAccount } from '../operate/account-commands.ts';
import { type Accept, createAccept } from './accept.ts';
import { listOptOutsOf, optIn } from './consent.ts';
import { applyMarketingChoices } from './stops.ts';
import { insertMessages } from './new-messages.ts';
import { settleOutcomes } from './settle.ts';

const { pool } = testDatabase();
const NUMBER = '+393331234567';

let accept: Accept;
let accountId: number;
beforeAll(() => {
  const waker = { ...createWaker(pool), wake: () => undefined };
  accept = createAccept({ pool, tables: freeOver(() => [1]), waker, recentMessages: null });
});
beforeEach(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
});

const content = { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hi' } } } as const;
const send = (isMarketing: boolean) =>
  accept.one(
    { ...actor(accountId), hasOptOuts: true },
    draft({
      channel: 'WHATSAPP',
      destination: NUMBER,
      content: { ...content, ...(isMarketing && { marketing: true }) },
    }),
  );
const choose = (...choices: { subscribed: boolean; at: Date }[]) =>
  transaction(pool, (tx) =>
    applyMarketingChoices(
      tx,
      choices.map((choice) => ({ accountId, channel: 'WHATSAPP', source: '393331234567', ...choice })),
    ),
  );
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

test('a person who stops marketing in WhatsApp gets none there until they resume it, and still gets everything else', async () => {
  expect(await send(true)).toMatchObject({ kind: 'accepted' });
  await choose({ subscribed: false, at: at(1) });
  expect(await send(true)).toEqual({ kind: 'refused', refusal: 'marketing_stopped' });
  expect(await send(false)).toMatchObject({ kind: 'accepted' });
  expect(await listOptOutsOf(pool, { accountId, phoneNumber: NUMBER })).toEqual([
    { phoneNumber: NUMBER, channel: 'WHATSAPP', purpose: 'marketing', source: 'NETWORK', createdAt: at(1) },
  ]);
  await choose({ subscribed: true, at: at(3) }, { subscribed: false, at: at(2) });
  expect(await send(true)).toMatchObject({ kind: 'accepted' });
});

test('opting in to the channel ends the stop of its marketing', async () => {
  await choose({ subscribed: false, at: at(1) });
  await transaction(pool, (tx) => optIn(tx, [{ accountId, phoneNumber: NUMBER, channel: 'WHATSAPP', source: 'API' }]));
  expect(await send(true)).toMatchObject({ kind: 'accepted' });
});

test('a rejection by Meta because the person stopped marketing is remembered for the account that sent it', async () => {
  const other = await createAccount(pool, { name: 'Other', plan: 'unlimited' });
  const message = newMessage({ accountId, channel: 'WHATSAPP', destination: NUMBER });
  const sms = newMessage({ accountId: other.accountId, channel: 'SMS', destination: NUMBER });
  await insertMessages(pool, [message, sms]);
  const outcome = { kind: 'refused', status: 'ERROR', code: '131050', text: 'no', carrierIds: [] } as const;
  const results = [message, sms].map(({ accountId: id, id: messageId }) => ({
    ...resultOf(messageId, outcome),
    accountId: id,
  }));
  for (const result of results) await burst(pool, (tx) => [settleOutcomes(tx, [result], false)]);
  const { rows } = await pool.query('SELECT has_opt_outs AS "isKnown" FROM account WHERE id = $1', [accountId]);
  expect(rows).toEqual([{ isKnown: true }]);
  expect(await send(true)).toEqual({ kind: 'refused', refusal: 'marketing_stopped' });
  expect(await listOptOutsOf(pool, { accountId: other.accountId, phoneNumber: NUMBER })).toEqual([]);
});
