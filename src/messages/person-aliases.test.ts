import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { say } from '../../test/support/say.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { burst, transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { listOptOutsOf, optOut } from './consent.ts';
import { jobOf } from './load.ts';
import { applyMarketingChoices, recordMarketingStops } from './stops.ts';
import { insertMessages } from './new-messages.ts';
import { findPersons, keyOfPerson, learnAddresses } from './person-aliases.ts';
import { settleOutcomes } from './settle.ts';

const { pool } = testDatabase();
const NUMBER = '+393331234567';
const FORMER = '+393331234000';
const USER_ID = 'IT.13491208655302741918';

let accountId: number;
beforeEach(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
});

const learn = (alias: string, address: string) =>
  transaction(pool, (tx) => learnAddresses(tx, [{ accountId, alias, address }]));
const write = (source: string, body: string) =>
  transaction(pool, (tx) => say(tx, [{ accountId, channel: 'WHATSAPP', source, body }]));
const stopsOf = async (phoneNumber: string) =>
  (await listOptOutsOf(pool, { accountId, phoneNumber })).map(({ channel, purpose }) => `${channel} ${purpose}`);
const personOfAddress = async (phoneNumber: string) =>
  (await findPersons(pool, [{ accountId, phoneNumber }])).get(keyOfPerson({ accountId, phoneNumber }));

test.each([
  ['number', NUMBER.slice(1), USER_ID],
  ['user id', USER_ID, NUMBER],
])('a STOP under the %s holds for the other address, and so does START', async (_, said, other) => {
  await learn(USER_ID, NUMBER);
  await write(said, 'STOP');
  expect(await stopsOf(other)).toEqual(['WHATSAPP *']);
  await write(other.replace('+', ''), 'START');
  expect([await stopsOf(NUMBER), await stopsOf(USER_ID)]).toEqual([[], []]);
});

test('what a person said before the addresses were known as one holds for both; of SMS only for numbers', async () => {
  await transaction(pool, (tx) => optOut(tx, [{ accountId, phoneNumber: NUMBER, channel: 'SMS', source: 'API' }]));
  await write(USER_ID, 'STOP');
  await learn(USER_ID, NUMBER);
  await learn(FORMER, NUMBER);
  expect(await stopsOf(NUMBER)).toEqual(['SMS *', 'WHATSAPP *']);
  expect(await stopsOf(FORMER)).toEqual(['SMS *', 'WHATSAPP *']);
  expect(await stopsOf(USER_ID)).toEqual(['WHATSAPP *']);
});

test('marketing that is stopped under one address is stopped under all', async () => {
  await learn(USER_ID, NUMBER);
  await learn(FORMER, NUMBER);
  const choice = { accountId, channel: 'WHATSAPP', source: USER_ID, at: null } as const;
  await transaction(pool, (tx) => applyMarketingChoices(tx, [{ ...choice, subscribed: false }]));
  expect(await stopsOf(FORMER)).toEqual(['WHATSAPP marketing']);
  await transaction(pool, (tx) => applyMarketingChoices(tx, [{ ...choice, source: FORMER, subscribed: true }]));
  expect(await stopsOf(USER_ID)).toEqual([]);
  const message = newMessage({ accountId, channel: 'WHATSAPP', destination: FORMER });
  await insertMessages(pool, [message]);
  await transaction(pool, (tx) => recordMarketingStops(tx, [{ accountId, id: message.id }]));
  expect([await stopsOf(NUMBER), await stopsOf(USER_ID)]).toEqual([['WHATSAPP marketing'], ['WHATSAPP marketing']]);
});

test('an alias of an alias is one of the same person, in whichever order they are learnt', async () => {
  await learn(USER_ID, FORMER);
  await learn(FORMER, NUMBER);
  await learn('IT.2', FORMER);
  expect(await Promise.all([USER_ID, FORMER, 'IT.2', NUMBER].map(personOfAddress))).toEqual([
    NUMBER,
    NUMBER,
    NUMBER,
    undefined,
  ]);
  await learn(NUMBER, USER_ID);
  expect(await personOfAddress(NUMBER)).toBeUndefined();
});

test('the number that the network states for a recipient is learnt with the outcome', async () => {
  const message = newMessage({ accountId, channel: 'WHATSAPP', destination: NUMBER });
  await insertMessages(pool, [message]);
  const outcome = { kind: 'accepted', carrierIds: ['wamid.1'], aliases: [FORMER, USER_ID] } as const;
  const result = resultOf(message.id, outcome, { accountId, job: jobOf(message) });
  await burst(pool, (tx) => [settleOutcomes(tx, [result], false)]);
  expect(await personOfAddress(FORMER)).toBe(NUMBER);
  expect(await personOfAddress(USER_ID)).toBe(NUMBER);
});
