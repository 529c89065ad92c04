import type { Author } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { updateNameKeys } from './lists/members/sql.ts';
import { claimBook, updateContactCount } from './book/sql.ts';
import { limitsOf } from './limits.ts';
import { insertContacts, listIdsByNumber, type NewContact } from './sql.ts';

/**
 * A contact to create, or to change if the number is a contact already. `describePhone` makes the fields of the number.
 */
export type UpsertRow = NewContact & { readonly phoneNumber: string };

export type Upserted =
  | { readonly kind: 'created' | 'updated'; readonly id: number }
  /** The contact limit is reached. */
  | { readonly kind: 'limit' };

/**
 * Creates or changes contacts by their numbers, in one statement: 1,000 to 10,000 rows are a good batch. Values of a
 * row replace those of an existing contact, null leaves them as they are. If the contact limit does not allow all of
 * them, the first ones are created and the others are returned as `limit`; the limit does not affect changes. Returns
 * the outcome of each row, in order.
 *
 * Call it in a transaction: it locks the account's contacts (`claimBook`) until the end. No number may occur twice in
 * one call.
 */
export async function upsertContacts(tx: Db, actor: Author, rows: readonly UpsertRow[]): Promise<Upserted[]> {
  if (rows.length === 0) return [];
  const { accountId } = actor;
  const { remaining } = limitsOf(await claimBook(tx, { accountId, to: 'change' }));
  const admitted = remaining === null ? rows : await admit(tx, accountId, rows, remaining);
  const written = admitted.length > 0 ? await insertContacts(tx, { accountId, rows: admitted }) : [];
  const created = written.filter((contact) => contact.created).length;
  if (created > 0) await updateContactCount(tx, { accountId, by: created });
  const changed = written.flatMap((contact) => (contact.created ? [] : [contact.id]));
  if (changed.length > 0) await updateNameKeys(tx, { accountId, contactIds: changed });
  const byNumber = new Map(written.map((contact) => [contact.phoneNumber, contact]));
  return rows.map(({ phoneNumber }) => outcomeOf(byNumber.get(phoneNumber)));
}

/** Returns the rows whose numbers are contacts already, and as many of the new ones as the limit allows. */
async function admit(tx: Db, accountId: number, rows: readonly UpsertRow[], room: number): Promise<UpsertRow[]> {
  const numbers = rows.map((row) => row.phoneNumber);
  const known = new Set((await listIdsByNumber(tx, { accountId, numbers })).map((contact) => contact.phoneNumber));
  let left = room;
  return rows.filter(({ phoneNumber }) => known.has(phoneNumber) || left-- > 0);
}

const outcomeOf = (contact: { id: number; created: boolean } | undefined): Upserted =>
  contact ? { kind: contact.created ? 'created' : 'updated', id: contact.id } : { kind: 'limit' };
