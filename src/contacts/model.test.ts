import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { runs } from '../../test/support/runs.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { parsePhone } from '../core/phone.ts';
import { createAccount } from '../operate/account-commands.ts';
import { changeContact, createContact, removeContacts, upsertContacts } from './contacts.ts';
import { findBook } from './limits.ts';
import { addToLists, removeAssociation, removeFromLists, removeLists } from './list-members.ts';
import { createList, listLists } from './lists.ts';
import { findContacts, newContact } from './read.ts';

const { pool } = testDatabase();

/** Expected content of an account: in memory, in the simplest form. */
type Model = {
  readonly contacts: Map<number, { name: string; number: string }>;
  readonly lists: Map<number, Set<number>>;
};
type Real = { readonly by: Actor; run<T>(work: (tx: Db) => Promise<T>): Promise<T> };
type Step = fc.AsyncCommand<Model, Real>;

const numberOf = (n: number): string => `+39333${1_000_000 + n}`;
const pick = <T>(from: Iterable<T>, n: number): T | undefined => {
  const all = [...from];
  return all[n % Math.max(1, all.length)];
};
const some = <T>(from: Iterable<T>, mask: number): T[] => [...from].filter((_, i) => (mask >> (i % 16)) & 1);

const PAGE = 3;

/** Compares all visible data: contacts and their order, lists, their contacts in order, and all counts. */
async function compare(model: Model, { by }: Real): Promise<void> {
  const { accountId } = by;
  const db = tenant(pool, by);
  const seen = async (listIds?: number[]) => {
    const filter = { accountId, ...(listIds && { listGroups: [listIds] }) };
    const order = { sortBy: 'fullName', descending: false } as const;
    const pages = [0, PAGE].map((offset) => findContacts(db, { filter, order, limit: PAGE, offset }));
    const [first, second] = await Promise.all(pages);
    return { ids: [first, second].flatMap((page) => page?.rows.map(({ id }) => id)), total: first?.total };
  };
  const expected = (ids: Iterable<number>) => {
    const nameOf = (id: number): string => (model.contacts.get(id)?.name ?? '').toLowerCase();
    const sorted = [...ids].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : a - b));
    return { ids: sorted.slice(0, 2 * PAGE), total: sorted.length };
  };
  expect(await seen()).toEqual(expected(model.contacts.keys()));
  expect((await findBook(db, { accountId }))?.contacts).toBe(model.contacts.size);
  const order = { sortBy: 'id', descending: false } as const;
  const lists = await listLists(db, { filter: { accountId, includeDeleted: false }, order, limit: 1000, offset: 0 });
  expect(lists.map(({ id, contactCount }) => [id, contactCount])).toEqual(
    [...model.lists].map(([id, members]) => [id, members.size]),
  );
  for (const [id, members] of model.lists) expect(await seen([id])).toEqual(expected(members));
  const union = new Set([...model.lists.values()].flatMap((members) => [...members]));
  if (model.lists.size > 0) expect(await seen([...model.lists.keys()])).toEqual(expected(union));
}

/** A step that does the same to both and then compares them. */
const step = (name: string, work: (model: Model, real: Real) => Promise<void>): Step => ({
  check: () => true,
  toString: () => name,
  async run(model, real) {
    await work(model, real);
    await compare(model, real);
  },
});

const taken = (model: Model, number: string): boolean => [...model.contacts.values()].some((c) => c.number === number);

const create = (n: number, name: string): Step =>
  step(`create(${n}, ${JSON.stringify(name)})`, async (model, { by, run }) => {
    const number = numberOf(n);
    const making = run((tx) => createContact(tx, by, { phoneNumber: number, fullName: name }));
    if (taken(model, number)) await expect(making).rejects.toThrow('belongs to contact');
    else model.contacts.set(await making, { name: name.trim(), number });
  });

const upsert = (from: number, name: string): Step =>
  step(`upsert(${from}, ${JSON.stringify(name)})`, async (model, { by, run }) => {
    const rows = [from, from + 1].map((n) => ({
      ...newContact(parsePhone(numberOf(n))),
      phoneNumber: numberOf(n),
      givenFullName: name.trim() || null,
    }));
    for (const [i, outcome] of (await run((tx) => upsertContacts(tx, by, rows))).entries()) {
      if (outcome.kind === 'limit') throw new Error('there is no limit');
      const before = model.contacts.get(outcome.id);
      expect(outcome.kind).toBe(before ? 'updated' : 'created');
      model.contacts.set(outcome.id, { name: name.trim() || (before?.name ?? ''), number: rows[i]?.phoneNumber ?? '' });
    }
  });

const rename = (n: number, name: string): Step =>
  step(`rename(${n}, ${JSON.stringify(name)})`, async (model, { by, run }) => {
    const id = pick(model.contacts.keys(), n);
    const known = id !== undefined && model.contacts.get(id);
    if (!known) return;
    await run((tx) => changeContact(tx, by, id, { fullName: name }));
    model.contacts.set(id, { ...known, name: name.trim() });
  });

function forget(model: Model, gone: (id: number) => boolean): number {
  const ids = [...model.contacts.keys()].filter(gone);
  for (const id of ids) {
    model.contacts.delete(id);
    for (const members of model.lists.values()) members.delete(id);
  }
  return ids.length;
}

const remove = (mask: number, others: boolean): Step =>
  step(`remove(${mask}, ${others})`, async (model, { by, run }) => {
    const ids = [...some(model.contacts.keys(), mask), 999_999_999];
    const removed = await run((tx) => removeContacts(tx, by, others ? { notIds: ids } : { ids }));
    const deleted = forget(model, (id) => ids.includes(id) !== others);
    expect(removed).toEqual({ deleted, notFound: [999_999_999] });
  });

const makeList = (): Step =>
  step('makeList', async (model, { by, run }) => {
    const { id } = await run((tx) => createList(tx, by, { name: 'List' }));
    model.lists.set(id, new Set());
  });

const dropLists = (mask: number): Step =>
  step(`dropLists(${mask})`, async (model, { by, run }) => {
    const ids = some(model.lists.keys(), mask);
    expect(await run((tx) => removeLists(tx, by, { ids }))).toEqual({ deleted: ids.length, notFound: [] });
    for (const id of ids) model.lists.delete(id);
  });

const associate = (way: 'add' | 'remove', listMask: number, mask: number, all: boolean): Step =>
  step(`${way}(${listMask}, ${mask}, ${all})`, async (model, { by, run }) => {
    const listIds = some(model.lists.keys(), listMask);
    const named = some(model.contacts.keys(), mask);
    if (listIds.length === 0) return;
    const contacts = all ? { allBut: named } : { ids: named };
    const chosen = [...model.contacts.keys()].filter((id) => named.includes(id) !== all);
    const pairs = listIds.flatMap((listId) => chosen.map((id) => ({ members: model.lists.get(listId), id })));
    const present = pairs.filter(({ members, id }) => members?.has(id)).length;
    if (way === 'add') {
      const added = await run((tx) => addToLists(tx, by, { listIds, contacts }));
      expect(added).toMatchObject({ created: pairs.length - present, existing: present });
      expect(added.associations).toHaveLength(pairs.length);
      for (const { members, id } of pairs) members?.add(id);
    } else {
      const nowhere = chosen.filter((id) => !listIds.some((listId) => model.lists.get(listId)?.has(id)));
      const removed = await run((tx) => removeFromLists(tx, by, { listIds, contacts }));
      expect(removed).toEqual({ deleted: present, notFound: all ? [] : nowhere });
      for (const { members, id } of pairs) members?.delete(id);
    }
  });

const endOne = (n: number, m: number): Step =>
  step(`endOne(${n}, ${m})`, async (model, { by, run }) => {
    const [listId, members] = pick(model.lists, n) ?? [0, new Set<number>()];
    const contactId = pick(members, m);
    if (contactId === undefined) return;
    const input = { listIds: [listId], contacts: { ids: [contactId] } };
    await run(async (tx) => {
      const { associations } = await addToLists(tx, by, input);
      return removeAssociation(tx, by, { id: associations?.[0]?.id ?? 0 });
    });
    members.delete(contactId);
  });

const n = fc.nat({ max: 12 });
const mask = fc.nat({ max: 0xff_ff });
const name = fc.constantFrom('Anna', 'anna', 'Bert', 'Émile', 'zoe', ' ', '日本');
const STEPS = [
  fc.tuple(n, name).map((args) => create(...args)),
  fc.tuple(n, name).map((args) => create(...args)),
  fc.tuple(n, name).map((args) => upsert(...args)),
  fc.tuple(n, name).map((args) => rename(...args)),
  fc.tuple(mask, fc.boolean()).map((args) => remove(...args)),
  fc.constant(null).map(makeList),
  mask.map(dropLists),
  fc.tuple(mask, mask, fc.boolean()).map((args) => associate('add', ...args)),
  fc.tuple(mask, mask, fc.boolean()).map((args) => associate('add', ...args)),
  fc.tuple(mask, mask, fc.boolean()).map((args) => associate('remove', ...args)),
  fc.tuple(n, n).map((args) => endOne(...args)),
];

/** Initial commands, so that the steps find data to work on. */
const FIRST = [
  ...['Anna', 'Bert', 'anna', 'zoe', 'Émile', 'Carl', 'Dora'].map((who, i) => create(i, who)),
  makeList(),
  makeList(),
  makeList(),
  associate('add', 0b011, 0b0101_1101, false),
];

test('contacts, lists and associations match a plain model in memory after any operations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(STEPS, { maxCommands: 40, size: 'max' }), async (commands) => {
      const { accountId } = await createAccount(pool, { name: 'Model', plan: 'unlimited' });
      const by = actor(accountId);
      const run: Real['run'] = (work) => tenantTransaction(pool, by, work);
      const model: Model = { contacts: new Map(), lists: new Map() };
      for (const first of FIRST) await first.run(model, { by, run });
      await fc.asyncModelRun(() => ({ model, real: { by, run } }), commands);
    }),
    { numRuns: runs(2) },
  );
});
