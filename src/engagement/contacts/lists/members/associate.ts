import { recordAudit, type Author } from '../../../../identity/audit/record.ts';
import { claimBook } from '../../book/sql.ts';
import { allowMinutes } from '../../../../platform/db/long-statements.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../../../platform/errors.ts';
import { claimLists, updateListCounts } from '../sql.ts';
import * as db from './sql.ts';

/** Which contacts, into or out of which lists. Ids may come twice. */
export type Association = { readonly listIds: readonly number[]; readonly contacts: db.ContactSelection };

/** `ids` of all associations asked for, new and old; null when they are more than `MOST_IDS`. */
export type AddResult = { readonly ids: number[] | null; readonly created: number; readonly existing: number };

export type RemoveResult = { readonly deleted: number; readonly notFound: number[] };

/** Contract 4: above this the answer counts associations in place of naming them. */
const MAX_IDS = 10_000;
const MINUTES = 10;

/**
 * Puts contacts into lists: one association for each pair, those that exist stay as they are. Set-based: a million
 * contacts are one statement. Call it in a transaction.
 * Errors: 400 naming lists and contacts that the account has not; then nothing is done.
 */
export async function addToLists(tx: Db, actor: Author, input: Association): Promise<AddResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'contacts that must exist');
  const added = await db.insertMembers(tx, { accountId, listIds, contacts });
  const moves = added.flatMap(({ listId, created }) => (created > 0 ? [{ listId, by: created }] : []));
  if (moves.length > 0) await updateListCounts(tx, { accountId, moves });
  const created = sum(added.map((list) => list.created));
  const asked = sum(added.map((list) => list.chosen));
  await recordAudit(tx, actor, { action: 'contact-list.add', subject: subjectOf(listIds), detail: { created } });
  const ids = asked > MAX_IDS ? null : await db.listMemberIds(tx, { accountId, listIds, contacts });
  return { ids, created, existing: asked - created };
}

/**
 * Takes contacts out of lists; contacts and lists stay. `notFound` names the contacts that were in none of the lists,
 * unknown ones among them. Call it in a transaction. Errors: 400 naming lists that the account has not.
 */
export async function removeFromLists(tx: Db, actor: Author, input: Association): Promise<RemoveResult> {
  const { accountId } = actor;
  const { listIds, contacts } = await claimBookAndLists(tx, accountId, input, 'any contacts');
  const notFound =
    'ids' in contacts ? await db.listNonMembers(tx, { accountId, listIds, contactIds: contacts.ids }) : [];
  const deleted = await removeAndCount(tx, { accountId, listIds, contacts });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf(listIds), detail: { deleted } });
  return { deleted, notFound };
}

/** Ends one association. Call it in a transaction. Errors: 404. */
export async function removeAssociation(tx: Db, actor: Author, { id }: { id: number }): Promise<RemoveResult> {
  const { accountId } = actor;
  await claimBook(tx, { accountId, to: 'associate' });
  const member = await db.findMember(tx, { accountId, id });
  if (!member) throw new AppError('not_found');
  const { listId } = member;
  await claimLists(tx, { accountId, ids: [listId] });
  // Another one may have removed it while this one waited for the list.
  if ((await db.deleteMember(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await updateListCounts(tx, { accountId, moves: [{ listId, by: -1 }] });
  await recordAudit(tx, actor, { action: 'contact-list.remove', subject: subjectOf([listId]), detail: { deleted: 1 } });
  return { deleted: 1, notFound: [] };
}

/**
 * Takes contacts that are about to be deleted out of all lists. The caller has claimed the book to `change`, so that
 * nobody else is at any list.
 */
export const removeFromAllLists = (tx: Db, accountId: number, contacts: db.ContactSelection): Promise<number> =>
  removeAndCount(tx, { accountId, listIds: null, contacts });

type Removal = {
  readonly accountId: number;
  readonly listIds: readonly number[] | null;
  readonly contacts: db.ContactSelection;
};

async function removeAndCount(tx: Db, removal: Removal): Promise<number> {
  const removed = await db.deleteMembers(tx, removal);
  const moves = removed.map((list) => ({ listId: list.listId, by: -list.removed }));
  if (moves.length > 0) await updateListCounts(tx, { accountId: removal.accountId, moves });
  return sum(removed.map((list) => list.removed));
}

/** Locks the book and the lists, in this order, and refuses what is not there. */
async function claimBookAndLists(
  tx: Db,
  accountId: number,
  input: Association,
  which: 'any contacts' | 'contacts that must exist',
): Promise<Association> {
  const listIds = distinct(input.listIds);
  const contacts = 'ids' in input.contacts ? { ids: distinct(input.contacts.ids) } : input.contacts;
  await allowMinutes(tx, MINUTES);
  await claimBook(tx, { accountId, to: 'associate' });
  const known = new Set(await claimLists(tx, { accountId, ids: listIds }));
  const unknownContacts =
    which === 'any contacts' || !('ids' in contacts)
      ? []
      : await db.listUnknownContacts(tx, { accountId, ids: contacts.ids });
  const unknownLists = listIds.filter((id) => !known.has(id));
  const faults = [...unknownIdFaults('listIds', unknownLists), ...unknownIdFaults('contactIds', unknownContacts)];
  if (faults.length > 0) throw invalidFields(faults);
  return { listIds, contacts };
}

const MAX_NAMED_IDS = 100;

function unknownIdFaults(field: string, ids: readonly number[]): FieldError[] {
  if (ids.length === 0) return [];
  const more = ids.length > MAX_NAMED_IDS ? ` and ${ids.length - MAX_NAMED_IDS} more` : '';
  return [{ field, message: `unknown: ${ids.slice(0, MAX_NAMED_IDS).join(', ')}${more}` }];
}

const distinct = (ids: readonly number[]): number[] => [...new Set(ids)].sort((a, b) => a - b);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
const subjectOf = (listIds: readonly number[]): string => `contact-list:${listIds.slice(0, MAX_NAMED_IDS).join(',')}`;
