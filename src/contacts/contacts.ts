import type { Static } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Db } from '../core/db/query.ts';
import { setStatementTimeoutMinutes } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import type { Channel } from '../core/channels.ts';
import { type NumberRules, personOf, readNumber } from '../core/phone.ts';
import { listOptOutsOf, setOptOuts } from '../messages/consent.ts';
import { isWanted, publishFacts } from '../webhooks/outbox.ts';
import { createField, listFields } from './fields.ts';
import { claimBook, limitReached, limitsOf, updateContactCount } from './limits.ts';
import { addToLists, listUnknownContacts, removeFromAllLists, updateNameKeys } from './list-members.ts';
import { createList } from './lists.ts';
import { readContact } from './read.ts';
import type { ContactPatch } from './schema.ts';
import * as db from './store.ts';
import {
  findContact,
  insertContacts,
  insertLastContacts,
  type LastContact,
  listIdsByPerson,
  type NewContact,
  updateContact,
} from './store.ts';

/**
 * Creates a contact and returns its id. Call it in a transaction. Errors: 400 naming the faulty fields (a number or an
 * email address is required), 403 when the contact limit is reached, 409 naming the contact that has the number.
 */
export async function createContact(tx: Db, actor: Author, input: Static<typeof ContactPatch>): Promise<number> {
  const { accountId } = actor;
  const book = await claimBook(tx, { accountId, to: 'create' });
  const fields = await listFields(tx, { accountId });
  const row = readContact(input, { rules: book, fields }, null);
  await refuseTakenNumber(tx, accountId, row.phoneNumber, null);
  const limits = limitsOf(book);
  if (limits.remaining === 0) throw limitReached(limits);
  const [written] = await insertContacts(tx, { accountId, rows: [row] });
  if (!written) throw new Error('the contact was not written');
  await updateContactCount(tx, { accountId, by: 1 });
  if (row.phoneNumber !== null && input.optedOut) {
    // A new contact with an empty list must not take back a STOP of the number.
    const known = await optedOutOf(tx, { accountId, phoneNumber: row.phoneNumber });
    const channels = [...new Set([...known, ...input.optedOut])];
    await setOptOuts(tx, actor, { phoneNumber: row.phoneNumber, channels, source: 'API' });
  }
  await publishContacts(tx, accountId, 'contact.created', [{ ...row, id: written.id }]);
  return written.id;
}

/**
 * Rejects a number that a contact other than `id` has. The caller has claimed the book, so that the result stays valid.
 * Errors: 409.
 */
async function refuseTakenNumber(tx: Db, accountId: number, number: string | null, id: number | null): Promise<void> {
  if (number === null) return;
  const [taken] = await listIdsByPerson(tx, { accountId, numbers: [number] });
  if (!taken || taken.id === id) return;
  throw new AppError('conflict', {
    message: `The number belongs to contact ${taken.id}`,
    details: [{ field: 'phoneNumber', message: `belongs to contact ${taken.id}` }],
  });
}

/**
 * Changes the fields of a contact that `input` has. A new number has the opt-outs and the validity of that number: what a
 * client sends back unchanged about the previous one does not apply to it. Call it in a transaction.
 * Errors: 400 naming the faulty fields, 404, 409 when another contact has the number.
 */
export async function changeContact(
  tx: Db,
  actor: Author,
  id: number,
  given: Static<typeof ContactPatch>,
): Promise<void> {
  const { accountId } = actor;
  const rules = await claimBook(tx, { accountId, to: 'change' });
  const current = await existing(findContact(tx, { accountId, id }));
  const input = isOtherNumber(given, current, rules) ? await withoutEcho(tx, accountId, given, current) : given;
  const row = readContact(input, { rules, fields: await listFields(tx, { accountId }) }, current);
  await refuseTakenNumber(tx, accountId, row.phoneNumber, id);
  await updateContact(tx, { accountId, id, row });
  await updateNameKeys(tx, { accountId, contactIds: [id] });
  if (row.phoneNumber !== null && input.optedOut)
    await setOptOuts(tx, actor, { phoneNumber: row.phoneNumber, channels: input.optedOut, source: 'API' });
  await publishContacts(tx, accountId, 'contact.updated', [{ ...row, id }]);
}

/** The channels on which a number has opted out of all messages. */
const optedOutOf = async (
  tx: Db,
  { accountId, phoneNumber }: { readonly accountId: number; readonly phoneNumber: string | null },
): Promise<Channel[]> => {
  const rows = phoneNumber === null ? [] : await listOptOutsOf(tx, { accountId, phoneNumber });
  return rows.filter(({ purpose }) => purpose === '*').map(({ channel }) => channel);
};

function isOtherNumber(
  { phoneNumber }: Static<typeof ContactPatch>,
  current: Pick<NewContact, 'phoneNumber'>,
  rules: NumberRules,
): boolean {
  const read = typeof phoneNumber === 'string' ? readNumber(phoneNumber, rules) : null;
  return read !== null && 'e164' in read && read.e164 !== current.phoneNumber;
}

/** Drops what a client sends back unchanged about the previous number. */
async function withoutEcho(
  tx: Db,
  accountId: number,
  { isValid, optedOut, ...others }: Static<typeof ContactPatch>,
  current: Pick<NewContact, 'phoneNumber' | 'isValid'>,
): Promise<Static<typeof ContactPatch>> {
  const before = await optedOutOf(tx, { accountId, phoneNumber: current.phoneNumber });
  const isEcho = new Set(before).symmetricDifference(new Set(optedOut)).size === 0;
  return {
    ...others,
    ...(isValid !== undefined && isValid !== current.isValid && { isValid }),
    ...(optedOut && !isEcho && { optedOut }),
  };
}

/** Publishes the contacts that were written, if the account takes such events. */
async function publishContacts(
  tx: Db,
  accountId: number,
  type: 'contact.created' | 'contact.updated',
  written: readonly (NewContact & { readonly id: number })[],
): Promise<void> {
  if (written.length === 0 || !(await isWanted(tx, { accountId, type }))) return;
  await publishFacts(
    tx,
    written.map(({ id, phoneNumber, email, givenFullName, firstName, lastName }) => ({
      accountId,
      type,
      about: id,
      data: {
        contactId: id,
        phoneNumber,
        email,
        fullName: givenFullName ?? ([firstName, lastName].filter(Boolean).join(' ') || null),
        firstName,
        lastName,
      },
    })),
  );
}

/**
 * A contact to create, or to change if the number is a contact already. `newContact` makes the fields of the number.
 */
export type UpsertRow = NewContact & { readonly phoneNumber: string };

export type Upserted = { readonly kind: 'created' | 'updated'; readonly id: number } | { readonly kind: 'limit' };

/**
 * Creates or changes contacts by their numbers, in one statement: 1,000 to 10,000 rows are a good batch. Values of a
 * row replace those of an existing contact, null leaves them as they are. If the contact limit does not allow all of
 * them, the first ones are created and the others are returned as `limit`; the limit does not affect changes. Returns
 * the outcome of each row, in order.
 *
 * Call it in a transaction: it locks the account's contacts (`claimBook`) until the end. No person may occur twice in
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
  const byPerson = new Map(written.map((contact) => [contact.person, contact]));
  const made = admitted.flatMap((row) => {
    const contact = byPerson.get(personOf(row.phoneNumber));
    return contact ? [{ ...row, ...contact }] : [];
  });
  const [fresh = [], known = []] = [true, false].map((isNew) => made.filter((contact) => contact.created === isNew));
  await publishContacts(tx, accountId, 'contact.created', fresh);
  await publishContacts(tx, accountId, 'contact.updated', known);
  return rows.map(({ phoneNumber }) => outcomeOf(byPerson.get(personOf(phoneNumber))));
}

/** Returns the rows whose numbers are contacts already, and as many of the new ones as the limit allows. */
async function admit(tx: Db, accountId: number, rows: readonly UpsertRow[], room: number): Promise<UpsertRow[]> {
  const numbers = rows.map((row) => row.phoneNumber);
  const known = new Set((await listIdsByPerson(tx, { accountId, numbers })).map((contact) => contact.person));
  let left = room;
  return rows.filter(({ phoneNumber }) => known.has(personOf(phoneNumber)) || left-- > 0);
}

const outcomeOf = (contact: { id: number; created: boolean } | undefined): Upserted =>
  contact ? { kind: contact.created ? 'created' : 'updated', id: contact.id } : { kind: 'limit' };

type RemovedContacts = { readonly deleted: number; readonly notFound: number[] };

const MAX_MINUTES = 10;
/** Number of ids that an audit entry may have. */
const MAX_AUDITED_IDS = 1000;

/**
 * Deletes contacts permanently and removes them from their lists: those with `ids`, or all but those with `notIds`.
 * Opt-outs stay, by number. `notFound` has the given ids that do not exist. Call it in a transaction.
 */
export async function removeContacts(
  tx: Db,
  actor: Author,
  input: { ids: readonly number[] } | { notIds: readonly number[] },
): Promise<RemovedContacts> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  await claimBook(tx, { accountId, to: 'change' });
  const named = 'ids' in input ? input.ids : input.notIds;
  const notFound = await listUnknownContacts(tx, { accountId, ids: named });
  const deleted =
    'ids' in input ? await removeThese(tx, accountId, input.ids) : await removeAllBut(tx, accountId, input.notIds);
  if (deleted === 0) return { deleted, notFound };
  await updateContactCount(tx, { accountId, by: -deleted });
  const detail = { deleted, ['ids' in input ? 'ids' : 'notIds']: named.slice(0, MAX_AUDITED_IDS) };
  await recordAudit(tx, actor, { action: 'contact.delete', subject: 'contacts', detail });
  return { deleted, notFound };
}

async function removeThese(tx: Db, accountId: number, ids: readonly number[]): Promise<number> {
  await removeFromAllLists(tx, accountId, { ids });
  await db.deleteActivity(tx, { accountId, ids });
  return db.deleteContacts(tx, { accountId, ids });
}

async function removeAllBut(tx: Db, accountId: number, ids: readonly number[]): Promise<number> {
  await removeFromAllLists(tx, accountId, { allBut: ids });
  await db.deleteOtherActivity(tx, { accountId, ids });
  return db.deleteOtherContacts(tx, { accountId, ids });
}

/**
 * Records when and on which channel contacts were last sent a message, in the caller's transaction. If a contact occurs
 * several times, the latest time counts. It takes one statement, which changes neither the contacts nor their indexes.
 */
export async function recordLastContacts(tx: Db, rows: readonly LastContact[]): Promise<void> {
  if (rows.length === 0) return;
  // The ids of contacts are unique among all accounts.
  const latest = new Map<number, LastContact>();
  for (const row of rows) {
    const known = latest.get(row.contactId);
    if (!known || known.at <= row.at) latest.set(row.contactId, row);
  }
  const sorted = [...latest.values()].sort((a, b) => a.accountId - b.accountId || a.contactId - b.contactId);
  await insertLastContacts(tx, sorted);
}

/**
 * Numbers that reach no one: Australia, Sweden and the United States reserve them for films and examples, and they are
 * valid in the numbering plans.
 */
const SAMPLES = [
  { firstName: 'Ada', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+61491570156', city: 'Sydney' },
  { firstName: 'Bruno', lastName: 'Example', gender: 'MALE', phoneNumber: '+61491570157', city: 'Perth' },
  { firstName: 'Carla', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+46701740605', city: 'Stockholm' },
  { firstName: 'Didrik', lastName: 'Example', gender: 'MALE', phoneNumber: '+46701740606', city: 'Uppsala' },
  { firstName: 'Ellis', lastName: 'Example', gender: 'OTHER', phoneNumber: '+12025550123', city: 'Washington' },
  { firstName: 'Fay', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+12025550124', city: 'Washington' },
] as const;

/** Creates some contacts, a list, a test list and a custom field, for the account that the first start creates. */
export async function createSamples(tx: Db, actor: Author): Promise<void> {
  await createField(tx, actor, { name: 'city', type: 'text', description: 'A custom field' });
  const ids: number[] = [];
  for (const { city, ...sample } of SAMPLES) {
    const email = `${sample.firstName.toLowerCase()}@example.com`;
    ids.push(await createContact(tx, actor, { ...sample, email, isTest: true, customFields: { city } }));
  }
  const description = 'Created at the first start: numbers that are reserved for examples and reach nobody';
  const list = await createList(tx, actor, { name: 'Sample contacts', description });
  const test = await createList(tx, actor, { name: 'Test contacts', description, isTest: true });
  await addToLists(tx, actor, { listIds: [list.id], contacts: { ids } });
  await addToLists(tx, actor, { listIds: [test.id], contacts: { ids: ids.slice(0, 2) } });
}
