import { beforeAll, beforeEach, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import type { SenderChannel } from '../core/channels.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { assignSender, registerAgent, removeSender } from '../templates/assignments.ts';
import { insertTemplate } from '../templates/store.ts';
import { registerConnectionCommands } from './connection-commands.ts';
import { countUses, insertConnection } from './connection-store.ts';
import { removeConnection } from './connections.ts';
import { changeMessagingLimit, updateMessagingLimit } from './messaging-limits.ts';
import * as db from './senders.ts';

const database = testDatabase();
const { pool } = database;

let ours: number;
let theirs: number;
let whatsapp: number;
let rcs: number;
beforeAll(async () => {
  ours = (await createAccount(pool, { name: 'Ours', plan: 'unlimited' })).accountId;
  theirs = (await createAccount(pool, { name: 'Theirs', plan: 'unlimited' })).accountId;
  whatsapp = (await insertConnection(pool, { name: 'meta', kind: 'whatsapp', sandbox: false, settings: {} }))?.id ?? 0;
  rcs = (await insertConnection(pool, { name: 'google', kind: 'rcs', sandbox: false, settings: {} }))?.id ?? 0;
  await insertConnection(pool, { name: 'smsc', kind: 'smpp', sandbox: false, settings: {} });
});
beforeEach(() => reset(pool, sql`TRUNCATE sender, template, audit_entry RESTART IDENTITY`));

const assign = (identity: string, ownerId: number | null, more: Partial<db.NewSender> = {}) =>
  assignSender(pool, { channel: 'WHATSAPP', connectionId: whatsapp, name: 'Shop', identity, ownerId, ...more });
const usable = async (accountId: number, channel: SenderChannel = 'WHATSAPP') =>
  (await db.listUsableSenders(pool, { accountId, channel }, { limit: 10, offset: 0 })).map((s) => s.identity);

test('an account may use its own senders and the shared ones', async () => {
  await assign('shop@rbm.goog', ours, { channel: 'RCS', connectionId: rcs });
  await assign('all', null, { channel: 'RCS', connectionId: rcs });
  expect([await usable(ours, 'RCS'), await usable(theirs, 'RCS')]).toEqual([['shop', 'all'], ['all']]);
  expect(await db.countUsableSenders(pool, { accountId: ours, channel: 'RCS' })).toBe(2);
  const find = (accountId: number) => db.findUsableSender(pool, { accountId, channel: 'RCS', identity: 'shop' });
  expect(await find(ours)).toEqual({ identity: 'shop', name: 'Shop', displayNumber: null, connectionId: rcs });
  expect(await find(theirs)).toBeUndefined();
  const mine = tenant(pool, { accountId: theirs });
  expect((await mine.query({ text: 'SELECT FROM sender', values: [] })).rowCount).toBe(1);
});

test('a sender that is assigned again moves to the new account, whose audit log shows it', async () => {
  await assign('106', ours);
  await assign('106', theirs, { name: '' });
  expect([await usable(ours), await usable(theirs)]).toEqual([[], ['106']]);
  expect(await db.listRegisteredSenders(pool)).toEqual([
    { channel: 'WHATSAPP', identity: '106', connectionId: whatsapp, ownerId: theirs },
  ]);
  const all = { action: null, subject: null, fromId: null, toId: null };
  const filter = { accountId: theirs, ...all, limit: 10, offset: 0 };
  const [entry] = await listAuditEntries(pool, filter);
  expect(entry).toMatchObject({ action: 'sender.assign', subject: 'sender:106' });
});

test('the numbers of one WhatsApp connection belong to one account, and its templates move with them', async () => {
  await assign('106', ours);
  const template = { channel: 'WHATSAPP', id: '9', ownerId: ours, connectionId: whatsapp, name: 'a' } as const;
  const rest = { language: 'en', category: '', status: 'APPROVED', content: [], headerLink: null } as const;
  await insertTemplate(pool, { ...template, ...rest, named: false, variables: [] });
  await expect(assign('107', theirs)).rejects.toMatchObject({ code: 'conflict' });
  expect(await usable(theirs)).toEqual([]);
  await assign('106', theirs);
  const { rows } = await pool.query<{ owner: number }>('SELECT owner_id AS owner FROM template');
  expect(rows).toEqual([{ owner: theirs }]);
});

test('a requested agent can send once the operator has registered it, which happens once', async () => {
  const asked = { accountId: ours, channel: 'RCS', name: 'Shop', details: { description: 'x' } } as const;
  const { id } = await db.insertRequestedSender(pool, asked);
  expect(await usable(ours, 'RCS')).toEqual([null]);
  expect(await db.listRegisteredSenders(pool)).toEqual([]);
  await registerAgent(pool, 'ada', { id, identity: 'shop@rbm.goog', connectionId: rcs });
  expect(await usable(ours, 'RCS')).toEqual(['shop']);
  await expect(registerAgent(pool, 'ada', { id, identity: 'x', connectionId: rcs })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('what the network reports about registered numbers is stored, and its changes are events', async () => {
  await assign('106', ours);
  const senders = [
    { identity: '106', name: 'Verified', details: { quality: 'GREEN' } },
    { identity: '107', name: 'Other', details: {} },
  ];
  expect(await db.updateSenderDetails(pool, { connectionId: whatsapp, senders })).toBe(1);
  expect(await db.updateSenderDetails(pool, { connectionId: whatsapp, senders })).toBe(0);
  await exec(pool, sql`UPDATE account SET feed_since = now() WHERE id = ${ours}`);
  const worse = [{ identity: '106', name: 'Verified', details: { quality: 'RED' } }];
  await db.updateSenderDetails(pool, { connectionId: whatsapp, senders: worse });
  await updateMessagingLimit(pool, { connectionId: whatsapp, portfolio: 'p', people: 2000 });
  await changeMessagingLimit(pool, { connectionId: whatsapp, people: 10_000 });
  await changeMessagingLimit(pool, { connectionId: whatsapp, people: 10_000 });
  const published = await many(
    pool,
    sql`SELECT kind, data FROM webhook_published WHERE account_id = ${ours} ORDER BY seq`,
  );
  expect(published).toEqual([
    { kind: 'sender.quality', data: { phoneNumberId: '106', quality: 'RED', oldQuality: 'GREEN' } },
    { kind: 'sender.limit', data: { phoneNumberId: '106', people: 10_000, oldPeople: 2000 } },
  ]);
  await db.updateSenderDetails(pool, { connectionId: whatsapp, senders });
  expect(await db.listSenders(pool)).toMatchObject([
    { name: 'Verified', details: { quality: 'GREEN' }, connection: 'meta', account: 'Ours' },
  ]);
});

test('a connection cannot be removed while it has senders', async () => {
  await assign('106', ours);
  await expect(removeConnection(pool, { name: 'meta', by: 'ada' })).rejects.toThrow('sender remove');
  expect(await countUses(pool, { connectionId: whatsapp })).toMatchObject({ senders: 1 });
  await removeSender(pool, 'ada', { channel: 'WHATSAPP', identity: '106' });
  await expect(removeSender(pool, 'ada', { channel: 'WHATSAPP', identity: '106' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('all senders of a connection can be deleted at once', async () => {
  await assign('106', ours);
  await assign('108', ours);
  expect(await db.listOwnersOfConnections(pool, { connectionIds: [whatsapp, rcs] })).toEqual([
    { connectionId: whatsapp, ownerId: ours },
  ]);
  expect(await db.deleteSendersOf(pool, { connectionId: whatsapp })).toBe(2);
});

test('the operator assigns, lists and removes senders, and errors are reported', async () => {
  const run = commandsOn(database, registerConnectionCommands, registerOperations);
  const assigned = ['sender', 'assign', '--account', 'null', '--identity', '106', '--connection', 'meta'];
  expect((await run(...assigned.with(-1, 'smsc'))).stderr).toContain('WhatsApp or RCS');
  expect((await run(...assigned.with(-1, 'none'))).stderr).toContain('no connection none');
  const { answer } = await run(...assigned.with(3, 'Ours'));
  expect(answer).toMatchObject({ channel: 'WHATSAPP', account: 'Ours' });
  expect((await run('sender', 'list')).answer).toMatchObject({ data: [{ identity: '106', account: 'Ours' }] });
  const { id } = await db.insertRequestedSender(pool, { accountId: ours, channel: 'RCS', name: 'A', details: {} });
  const register = ['sender', 'register', String(id), '--identity', 'agent', '--connection'];
  expect((await run(...register, 'meta')).stderr).toContain('connection to RCS');
  expect(await run(...register, 'google')).toMatchObject({ code: 0, answer: { identity: 'agent' } });
  const assignedId = (answer as { id: number }).id;
  expect(await run('sender', 'remove', String(assignedId))).toMatchObject({ code: 0 });
});
