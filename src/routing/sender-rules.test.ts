import { beforeAll, beforeEach, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { DAY_MS } from '../core/time.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { createAccount } from '../operate/account-commands.ts';
import { deleteStickySenders } from '../operate/retention.ts';
import { registerOperations } from '../operations.ts';
import { listPools, listRules } from './sender-rule-store.ts';
import * as change from './sender-rules.ts';
import {
  createSenderRules,
  createStickyLookup,
  endStickyPools,
  findStickySenders,
  NO_STICKY,
  pickNumber,
} from './sender-rules.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
let accountId = 0;
beforeAll(async () => {
  run = commandsOn(database, registerOperations);
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'production' }));
});
beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE sender_rule, registered_sender, number_pool, sticky_sender, message RESTART IDENTITY CASCADE`,
  ),
);

const rule = (...args: string[]) => run('sender-rule', 'set', ...args);

async function loaded() {
  const rules = createSenderRules(pool);
  await rules.reload();
  return rules;
}

/** Returns the sender chosen for a number. */
async function choice(sender: string, destination = '+393331234567', of = accountId): Promise<string> {
  const chosen = (await loaded()).choose({ accountId: of, destination, sender }, NO_STICKY);
  return 'fault' in chosen ? chosen.fault : chosen.sender;
}

test('without rules every sender stays', async () => {
  expect([await choice('ACME'), await choice('+39333'), await choice('')]).toEqual(['ACME', '+39333', '']);
  expect(await choice('pool:none')).toBe('no_pool');
});

test('senders with letters are refused or replaced in a country, numbers pass, and the longest prefix decides', async () => {
  await rule('--prefix', '1', '--alphanumeric', 'refused');
  await rule('--prefix', '1202', '--alphanumeric', 'replaced', '--replacement', '+12025550143');
  expect(await choice('ACME', '+13125550100')).toBe('sender_not_allowed');
  expect(await choice('+39333', '+13125550100')).toBe('+39333');
  expect(await choice('ACME', '+12025550100')).toBe('+12025550143');
  expect(await choice('ACME', '+393331234567')).toBe('ACME');
  // The carrier chooses.
  expect(await choice('', '+13125550100')).toBe('');
});

test('what is registered passes, for its account or for all, and with registered-only nothing else does', async () => {
  await rule('--prefix', '65', '--alphanumeric', 'refused', '--registered-only');
  await run('registered-sender', 'add', '--prefix', '65', '--sender', 'ACME', '--account', String(accountId));
  await run('registered-sender', 'add', '--prefix', '65', '--sender', '+6581234567');
  const to = '+6591234567';
  expect([await choice('ACME', to), await choice('acme', to), await choice('Other', to)]).toEqual([
    'ACME',
    'acme',
    'sender_not_allowed',
  ]);
  expect(await choice('ACME', to, accountId + 1)).toBe('sender_not_allowed');
  expect([await choice('+6581234567', to, accountId + 1), await choice('+6589999999', to)]).toEqual([
    '+6581234567',
    'sender_not_allowed',
  ]);
});

test('a rule that allows letters lets all pass, unless only registered senders do', async () => {
  await rule('--alphanumeric', 'allowed');
  expect(await choice('ACME')).toBe('ACME');
  await rule('--alphanumeric', 'allowed', '--registered-only');
  expect(await choice('ACME')).toBe('sender_not_allowed');
});

test('senders with letters must have the form that the rule of the country demands, unless they are registered', async () => {
  const form = ['--characters', 'A-Za-z0-9-', '--min-length', '3', '--max-length', '8'];
  await rule('--prefix', '44', '--alphanumeric', 'allowed', ...form, '--forbidden-words', 'bank', 'info');
  const to = '+447700900123';
  const senders = ['Acme-1', 'AC', 'AcmeLimited', 'Ac me', 'MyBANK', 'INFO', '+447700900000'];
  expect(await Promise.all(senders.map((sender) => choice(sender, to)))).toEqual([
    'Acme-1',
    ...Array(5).fill('sender_not_allowed'),
    '+447700900000',
  ]);
  await run('registered-sender', 'add', '--prefix', '44', '--sender', 'MyBANK');
  expect(await choice('MyBANK', to)).toBe('MyBANK');
});

const NUMBERS = ['+12025550141', '+12025550142', '+12025550143'];
const recipients = Array.from({ length: 300 }, (_, n) => `+1312555${String(1000 + n)}`);

test('a pool gives each recipient one of its numbers, always the same one, and spreads the recipients', async () => {
  await run('number-pool', 'add', 'us', ...NUMBERS);
  const rules = await loaded();
  const senderOf = (destination: string) => {
    const chosen = rules.choose({ accountId, destination, sender: 'pool:us' }, NO_STICKY);
    return 'fault' in chosen ? chosen.fault : chosen.sender;
  };
  const counts = Map.groupBy(recipients, senderOf);
  expect([...counts.keys()].sort()).toEqual(NUMBERS);
  for (const own of counts.values()) expect(own.length).toBeGreaterThan(60);
  expect(recipients.map(senderOf)).toEqual(recipients.map(senderOf));
});

test('the replacement of a rule may be a pool, and the own pool of an account goes before a shared one', async () => {
  await rule('--prefix', '1', '--alphanumeric', 'replaced', '--replacement', 'pool:us');
  await run('number-pool', 'add', 'us', '+12025550141');
  await run('number-pool', 'add', 'us', '+12025550149', '--account', 'Acme');
  expect(await choice('ACME', '+13125550100')).toBe('+12025550149');
  expect(await choice('ACME', '+13125550100', accountId + 1)).toBe('+12025550141');
});

/** Sends to all recipients from the current pool; returns the sender of each. */
async function sendAll(): Promise<Map<string, string>> {
  const rules = await loaded();
  const asked = recipients.map((destination) => ({ accountId, destination, sender: 'pool:us' }));
  const findSticky = await createStickyLookup(pool, rules)(asked);
  const senders = new Map<string, string>();
  for (const each of asked) {
    const chosen = rules.choose(each, findSticky);
    if ('sender' in chosen) senders.set(each.destination, chosen.sender);
  }
  const sent = [...senders].map(([destination, sender]) =>
    newMessage({ accountId, destination, sender, askedSender: 'pool:us' }),
  );
  await insertMessages(pool, sent);
  return senders;
}

test('who was written to keeps the number when others join or leave the pool; only those of a number that left change', async () => {
  const { answer } = await run('number-pool', 'add', 'us', ...NUMBERS);
  const { id } = answer as { id: number };
  const first = await sendAll();
  const added = await run('number-pool', 'add-number', String(id), '+12025550144');
  const { kept } = added.answer as { kept: number };
  expect(kept).toBeGreaterThan(30);
  expect(kept).toBe(recipients.filter((to) => pickNumber([...NUMBERS, '+12025550144'], to) === '+12025550144').length);
  expect(await sendAll()).toEqual(first);
  // A recipient who was never written to may get the new number.
  const fresh = Array.from({ length: 50 }, (_, n) => `+1415555${1000 + n}`);
  const rules = await loaded();
  const findSticky = await findStickySenders(
    pool,
    rules,
    fresh.map((destination) => ({ accountId, destination, sender: 'pool:us' })),
  );
  const choices = fresh.map((destination) => rules.choose({ accountId, destination, sender: 'pool:us' }, findSticky));
  expect(choices).toContainEqual({ sender: '+12025550144' });

  await run('number-pool', 'remove-number', String(id), '+12025550142');
  const last = await sendAll();
  for (const [to, sender] of first)
    if (sender !== '+12025550142') expect(last.get(to)).toBe(sender);
    else expect(last.get(to)).not.toBe(sender);
});

test('a recipient of another message keeps the number for as long as messages are kept, and then it is not read any more', async () => {
  const { id } = await transaction(pool, (tx) =>
    change.addPool(tx, { name: 'us', ownerId: null, numbers: NUMBERS, by: 'Ada' }),
  );
  await sendAll();
  const { kept } = await transaction(pool, (tx) => change.addPoolNumber(tx, { id, number: '+12025550144', by: 'Ada' }));
  await exec(pool, sql`UPDATE sticky_sender SET used_at = now() - interval '40 days'`);
  // Two concurrent requests record it as well as one.
  await Promise.all([sendAll(), sendAll()]);
  const before = new Date(Date.now() - DAY_MS);
  expect(await deleteStickySenders(pool, { before, limit: 10_000 })).toBe(0);
  expect(await endStickyPools(pool)).toBe(0);
  await exec(pool, sql`UPDATE sticky_sender SET used_at = now() - interval '2 days'`);
  expect(await deleteStickySenders(pool, { before, limit: 1 })).toBe(1);
  expect(await deleteStickySenders(pool, { before, limit: 10_000 })).toBe(kept - 1);
  expect([await endStickyPools(pool), await endStickyPools(pool)]).toEqual([1, 0]);
  expect((await loaded()).anySticky()).toBe(false);
});

test('another account does not keep numbers for this one', async () => {
  await transaction(pool, (tx) => change.addPool(tx, { name: 'us', ownerId: null, numbers: NUMBERS, by: 'Ada' }));
  await sendAll();
  await transaction(pool, (tx) => change.addPoolNumber(tx, { id: 1, number: '+12025550144', by: 'Ada' }));
  const rules = await loaded();
  const to = recipients.find((each) => pickNumber([...NUMBERS, '+12025550144'], each) === '+12025550144') ?? '';
  const chosenBy = async (of: number) => {
    const asked = { accountId: of, destination: to, sender: 'pool:us' };
    return rules.choose(asked, await findStickySenders(pool, rules, [asked]));
  };
  expect(await chosenBy(accountId)).not.toEqual({ sender: '+12025550144' });
  expect(await chosenBy(accountId + 1)).toEqual({ sender: '+12025550144' });
});

test.each([
  [['sender-rule', 'set', '--alphanumeric', 'replaced'], 'replacement: is required'],
  [
    ['sender-rule', 'set', '--alphanumeric', 'replaced', '--replacement', 'far too long a sender'],
    'replacement: must be',
  ],
  [['sender-rule', 'set', '--alphanumeric', 'refused', '--prefix', '+1'], 'prefix: must be'],
  [['sender-rule', 'set', '--alphanumeric', 'allowed', '--characters', 'z-a'], 'characters: must be'],
  [
    ['sender-rule', 'set', '--alphanumeric', 'allowed', '--min-length', '5', '--max-length', '4'],
    'maxLength: must not',
  ],
  [['registered-sender', 'add', '--sender', 'far too long a sender'], 'sender: must'],
  [['number-pool', 'add', 'Bad Name', '+12025550141'], 'name: must have'],
  [['number-pool', 'add', 'us', 'ACME'], 'numbers.0: must be'],
  [['sender-rule', 'remove', '9'], 'There is no such rule'],
  [['registered-sender', 'remove', '9'], 'There is no such sender'],
  [['number-pool', 'remove', '9'], 'There is no such pool'],
])('%j is refused: %s', async (args, fault) => {
  expect(await run(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(fault) });
  expect([await listRules(pool), await listPools(pool)]).toEqual([[], []]);
});

test('rules, registered senders and pools are listed and removed', async () => {
  await rule('--prefix', '1', '--alphanumeric', 'refused');
  await run('registered-sender', 'add', '--prefix', '1', '--sender', 'ACME');
  await run('number-pool', 'add', 'us', ...NUMBERS);
  expect((await run('sender-rule', 'list')).answer).toMatchObject({ data: [{ prefix: '1', alphanumeric: 'refused' }] });
  expect((await run('registered-sender', 'list')).answer).toMatchObject({ data: [{ sender: 'ACME', account: null }] });
  expect((await run('number-pool', 'list')).answer).toMatchObject({ data: [{ name: 'us', numbers: NUMBERS }] });
  expect(await run('number-pool', 'add', 'us', '+12025550141')).toMatchObject({ code: 1 });
  await run('sender-rule', 'remove', '1');
  await run('registered-sender', 'remove', '1');
  await run('number-pool', 'remove', '1');
  expect(await choice('pool:us', '+13125550100')).toBe('no_pool');
  expect(await choice('ACME', '+13125550100')).toBe('ACME');
});
