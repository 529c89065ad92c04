import { beforeEach, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { createTestDatabase, testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { parsePhone } from '../core/phone.ts';
import { createAccount, createDemoAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { createContact, recordLastContacts, type UpsertRow, upsertContacts } from './contacts.ts';
import { findBook, updateLimits } from './limits.ts';
import { addToLists } from './list-members.ts';
import { createList, listLists } from './lists.ts';
import { findContacts, newContact } from './read.ts';
import { findContact } from './store.ts';

const database = testDatabase();
let accountId: number;
beforeEach(async () => {
  ({ accountId } = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' }));
});

const numberOf = (n: number): string => `+39333${1_000_000 + n}`;
const rowOf = (n: number, more: Partial<UpsertRow> = {}): UpsertRow => ({
  ...newContact(parsePhone(numberOf(n))),
  phoneNumber: numberOf(n),
  ...more,
});
const run = <T>(work: (tx: Db) => Promise<T>): Promise<T> => tenantTransaction(database.pool, { accountId }, work);
const upsert = (...rows: UpsertRow[]) => run((tx) => upsertContacts(tx, actor(accountId), rows));
const read = (id: number) => findContact(tenant(database.pool, { accountId }), { accountId, id });
const idOf = (outcome: Awaited<ReturnType<typeof upsert>>[number] | undefined): number =>
  outcome && 'id' in outcome ? outcome.id : 0;

test.each([
  ['+5215512345678', '+525512345678'],
  ['+558299448232', '+5582999448232'],
  ['+5491123456789', '+541123456789'],
])('%s and %s are one contact, whose number stays as it was written', async (named, dialled) => {
  const of = (phoneNumber: string, more: Partial<UpsertRow> = {}): UpsertRow => ({
    ...newContact(parsePhone(phoneNumber)),
    phoneNumber,
    ...more,
  });
  const [made] = await upsert(of(named));
  const [changed] = await upsert(of(dialled, { firstName: 'Ana' }));
  expect([made?.kind, changed]).toEqual(['created', { kind: 'updated', id: idOf(made) }]);
  expect(await read(idOf(made))).toMatchObject({ phoneNumber: named, firstName: 'Ana', isValid: true });
  await expect(run((tx) => createContact(tx, actor(accountId), { phoneNumber: dialled }))).rejects.toThrow(
    `belongs to contact ${idOf(made)}`,
  );
});

test('rows become contacts by their numbers: new ones are created, existing ones changed where the row has values', async () => {
  const first = await upsert(
    rowOf(1, { firstName: 'Anna', lastName: 'Rossi', email: 'a@example.com', customFields: { 7: 'x', 8: 1 } }),
    rowOf(2, { isTest: true }),
  );
  expect(first.map(({ kind }) => kind)).toEqual(['created', 'created']);
  const [one, two] = first.map(idOf);
  const again = await upsert(
    rowOf(3),
    rowOf(1, { lastName: 'Bianchi', gender: 'FEMALE', customFields: { 8: null, 9: true } }),
    rowOf(2, { givenFullName: 'Two' }),
  );
  expect(again.map(({ kind }) => kind)).toEqual(['created', 'updated', 'updated']);
  expect([idOf(again[1]), idOf(again[2])]).toEqual([one, two]);
  expect(await read(one ?? 0)).toMatchObject({
    fullName: 'Anna Bianchi',
    email: 'a@example.com',
    gender: 'FEMALE',
    customFields: { 7: 'x', 8: 1, 9: true },
  });
  expect(await read(two ?? 0)).toMatchObject({ fullName: 'Two', isTest: true });
  expect((await findBook(database.pool, { accountId }))?.contacts).toBe(3);
});

test('a new first or last name replaces an older full name, unless the row has one or the names are the same', async () => {
  const [made] = await upsert(rowOf(1, { givenFullName: 'Just Name' }));
  const nameAfter = async (row: Partial<UpsertRow>) => {
    await upsert(rowOf(1, row));
    return (await read(idOf(made)))?.fullName;
  };
  expect(await nameAfter({ email: 'a@example.com' })).toBe('Just Name');
  expect(await nameAfter({ firstName: 'Changed' })).toBe('Changed');
  expect(await nameAfter({ firstName: 'Anna', givenFullName: 'Dr Anna Rossi' })).toBe('Dr Anna Rossi');
  expect(await nameAfter({ firstName: 'Anna' })).toBe('Dr Anna Rossi');
});

test('when the contact limit is reached, the first new ones are created; changes are not limited', async () => {
  await updateLimits(database.pool, { accountId, planLimit: 2, extraLimit: 1 });
  await upsert(rowOf(1));
  const outcomes = await upsert(rowOf(2), rowOf(1, { firstName: 'Anna' }), rowOf(3), rowOf(4), rowOf(5));
  expect(outcomes.map(({ kind }) => kind)).toEqual(['created', 'updated', 'created', 'limit', 'limit']);
  expect((await upsert(rowOf(6))).map(({ kind }) => kind)).toEqual(['limit']);
  expect((await findBook(database.pool, { accountId }))?.contacts).toBe(3);
});

test('concurrent batches count every contact once', async () => {
  const batches = Array.from({ length: 6 }, (_, i) => Array.from({ length: 50 }, (_row, n) => rowOf(i * 25 + n)));
  await Promise.all(batches.map((rows, i) => upsert(...(i % 2 === 0 ? rows : rows.toReversed()))));
  const db = tenant(database.pool, { accountId });
  const order = { sortBy: 'phoneNumber', descending: false } as const;
  const { total } = await findContacts(db, { filter: { accountId, isValid: true }, order, limit: 1, offset: 0 });
  expect([total, (await findBook(db, { accountId }))?.contacts]).toEqual([175, 175]);
});

test('a contact that a batch renames moves to its new place in its lists', async () => {
  const made = await upsert(rowOf(1, { firstName: 'Anna' }), rowOf(2, { firstName: 'Bert' }));
  const [one, two] = made.map(idOf);
  const listId = await run(async (tx) => {
    const { id } = await createList(tx, actor(accountId), { name: 'List' });
    await addToLists(tx, actor(accountId), { listIds: [id], contacts: { allBut: [] } });
    return id;
  });
  await upsert(rowOf(1, { firstName: 'Zoe' }));
  const db = tenant(database.pool, { accountId });
  const order = { sortBy: 'fullName', descending: false } as const;
  const filter = { accountId, listGroups: [[listId]] };
  const pages = [0, 1].map((offset) => findContacts(db, { filter, order, limit: 1, offset }));
  expect((await Promise.all(pages)).flatMap(({ rows }) => rows.map(({ id }) => id))).toEqual([two, one]);
});

test('the last contact is stored by time, not by the order of the reports; a single message keeps the last campaign', async () => {
  const [outcome] = await upsert(rowOf(1));
  const contactId = idOf(outcome);
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const note = { accountId, contactId, channel: 'SMS' as const };
  await run((tx) =>
    recordLastContacts(tx, [
      { ...note, at: at(2), campaignType: 'SMS' },
      { ...note, at: at(1), campaignType: 'RCS' },
    ]),
  );
  await run((tx) => recordLastContacts(tx, [{ ...note, channel: 'RCS', at: at(3), campaignType: null }]));
  await run((tx) => recordLastContacts(tx, [{ ...note, channel: 'WHATSAPP', at: at(0), campaignType: 'WHATSAPP' }]));
  expect(await read(contactId)).toMatchObject({
    lastContactType: 'RCS',
    lastContactDate: at(3),
    lastCampaignType: 'SMS',
  });
});

const PLAN = '--contact-limits.plan-limit';

test('the operator sets limits and the country of an account', async () => {
  const command = commandsOn(database, registerOperations);
  const account = String(accountId);
  const show = async (...options: string[]) =>
    (await command('account', 'change', account, ...options)).answer as { contactLimits: unknown };
  expect((await show()).contactLimits).toMatchObject({ planLimit: null, totalLimit: null, used: 0 });
  expect((await show(PLAN, '10')).contactLimits).toMatchObject({ planLimit: 10, extraLimit: 0, totalLimit: 10 });
  expect((await show('--contact-limits.extra-limit', '5')).contactLimits).toMatchObject({
    planLimit: 10,
    totalLimit: 15,
    remaining: 15,
  });
  expect((await show(PLAN, 'null')).contactLimits).toMatchObject({ planLimit: null, extraLimit: 5, totalLimit: null });
  expect((await command('account', 'change', account, PLAN, '-1')).code).not.toBe(0);
  await show('--default-country', 'it');
  const by = actor(accountId);
  expect((await read(await run((tx) => createContact(tx, by, { phoneNumber: '333 1234567' }))))?.phoneNumber).toBe(
    '+393331234567',
  );
  expect(await show('--default-country', 'null', '--number-checks', 'lenient')).toMatchObject({
    defaultCountry: null,
    numberChecks: 'lenient',
  });
  expect(await run((tx) => findBook(tx, { accountId }))).toMatchObject({ numberChecks: 'lenient' });
  expect((await command('account', 'change', account, '--default-country', 'XX')).code).toBe(1);
});

test('the account of the first start has sample contacts with valid numbers that are not in use, a list and a test list', async () => {
  await using fresh = await createTestDatabase();
  const demo = await createDemoAccount(fresh.pool);
  const own = demo?.accountId ?? 0;
  const db = tenant(fresh.pool, { accountId: own });
  const order = { sortBy: 'name', descending: false } as const;
  const lists = await listLists(db, { filter: { accountId: own, includeDeleted: false }, order, limit: 10, offset: 0 });
  expect(lists.map(({ name, isTest, contactCount }) => [name, isTest, contactCount])).toEqual([
    ['Sample contacts', false, 6],
    ['Test contacts', true, 2],
  ]);
  const filter = { accountId: own, isValid: true, isTest: true, channels: 1 };
  const page = { order: { sortBy: 'fullName', descending: false }, limit: 10, offset: 0 } as const;
  expect((await findContacts(db, { filter, ...page })).total).toBe(6);
  expect(await transaction(fresh.pool, (tx) => findBook(tx, { accountId: own }))).toMatchObject({ contacts: 6 });
});
