import type { Author } from '../../../identity/audit/record.ts';
import { optOut } from '../../../messaging/consent/record.ts';
import type { OptOut } from '../../../messaging/consent/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { CHANNELS } from '../../../platform/lib/channel.ts';
import { addImportedContacts } from '../lists/members/associate.ts';
import { claimBook, findBook } from '../book/sql.ts';
import type { FieldValue } from '../fields/values.ts';
import { limitsOf } from '../limits.ts';
import { describePhone } from '../read.ts';
import { listIdsByNumber } from '../sql.ts';
import { type Upserted, type UpsertRow, upsertContacts } from '../upsert.ts';
import { type SplitName, splitName } from './cleaning/split-name.ts';
import { type CheckedRow, type GoodRow, type RowFault, truncateCells } from './rows.ts';
import * as db from './sql.ts';

/** Number of rejected rows that are stored to be shown. */
const MAX_REJECTS = 10_000;

const LIMIT_REACHED: RowFault = {
  field: 'row',
  cause: 'limit',
  message: 'the contact limit of the plan is reached',
};

/**
 * Imports checked rows, in the caller's transaction: contacts are created or changed by their numbers, added to the
 * list, and opted out if the file requests it; no one is opted in. Rejected rows are counted and stored with the
 * reasons. A dry run writes only the counts and the rejected rows. Returns the updated import. Errors: 400 when its
 * list was deleted.
 */
export async function importRows(tx: Db, current: db.ImportRow, rows: readonly CheckedRow[]): Promise<db.ImportRow> {
  const { accountId, id } = current;
  const author: Author = { ...current.author, accountId };
  const good = rows.filter((row) => 'phone' in row);
  const outcomes = current.dryRun
    ? await predictOutcomes(tx, current, good)
    : await upsertContacts(
        tx,
        author,
        good.map((row) => toContact(row, current.columns)),
      );
  if (!current.dryRun) await addOptOutsAndList(tx, current, good, outcomes);
  const counts = countOf(rows, outcomes);
  await storeRejects(tx, current, rejectsOf(rows, good, outcomes));
  return db.updateCounts(tx, { accountId, id, ...counts });
}

/** Converts a row to a contact. Empty cells have no effect. */
function toContact({ cells, phone }: GoodRow, columns: readonly db.ImportColumn[]): UpsertRow {
  const values: Partial<Record<string, FieldValue>> = {};
  const customFields: Record<string, FieldValue> = {};
  let split: SplitName | null = null;
  for (const [i, { field, fieldId, names }] of columns.entries()) {
    const value = cells[i];
    if (value === null || value === undefined || field === null) continue;
    if (names !== undefined) split = splitName(String(value), names);
    else if (fieldId === null) values[field] = value;
    else customFields[fieldId] = value;
  }
  const text = (field: string): string | null => (typeof values[field] === 'string' ? values[field] : null);
  return {
    ...describePhone(phone),
    phoneNumber: phone.e164,
    ...namesOf(text, split),
    gender: GENDERS.find((gender) => gender === values['gender']) ?? null,
    email: text('email'),
    isTest: values['isTest'] === true,
    customFields,
  };
}

/** The names of a contact: those with their own columns take precedence over the parts of a whole name. */
const namesOf = (text: (field: string) => string | null, split: SplitName | null) => ({
  firstName: text('firstName') ?? split?.firstName ?? null,
  lastName: text('lastName') ?? split?.lastName ?? null,
  givenFullName: text('fullName') ?? split?.full ?? null,
});

const GENDERS = ['MALE', 'FEMALE', 'OTHER'] as const;

/** Predicts the outcomes of rows without writing them. */
async function predictOutcomes(
  tx: Db,
  { accountId, created }: db.ImportRow,
  rows: readonly GoodRow[],
): Promise<Upserted[]> {
  const book = await findBook(tx, { accountId });
  const numbers = rows.map(({ phone }) => phone.e164);
  const known = new Map((await listIdsByNumber(tx, { accountId, numbers })).map((c) => [c.phoneNumber, c.id]));
  const { remaining = null } = book ? limitsOf(book) : {};
  let left = remaining === null ? Infinity : remaining - created;
  return numbers.map((number) => {
    const id = known.get(number);
    if (id !== undefined) return { kind: 'updated', id };
    return left-- > 0 ? { kind: 'created', id: 0 } : { kind: 'limit' };
  });
}

/** The error for a list that does not exist: 400. */
export const unknownList = (listId: number): AppError =>
  new AppError('invalid', {
    message: `The list ${listId} does not exist`,
    details: [{ field: 'listId', message: `unknown: ${listId}` }],
  });

/** Opts contacts out if the file requests it, and adds them to the list. */
async function addOptOutsAndList(
  tx: Db,
  { accountId, listId, columns }: db.ImportRow,
  rows: readonly GoodRow[],
  outcomes: readonly Upserted[],
): Promise<void> {
  const imported = rows.filter((_, i) => outcomes[i]?.kind !== 'limit');
  await optOut(tx, optOutsOf(accountId, columns, imported));
  const contactIds = outcomes.flatMap((outcome) => (outcome.kind === 'limit' ? [] : [outcome.id]));
  if (listId === null) return;
  // If a chunk has no good row, the book has not been claimed yet.
  if (contactIds.length === 0) await claimBook(tx, { accountId, to: 'associate' });
  if (!(await addImportedContacts(tx, { accountId, listId, contactIds }))) throw unknownList(listId);
}

function optOutsOf(accountId: number, columns: readonly db.ImportColumn[], rows: readonly GoodRow[]): OptOut[] {
  const at = columns.findIndex(({ field }) => field === 'optedOut');
  if (at < 0) return [];
  return rows.flatMap(({ cells, phone }) => {
    const names = String(cells[at] ?? '').split(',');
    const channels = CHANNELS.filter((channel) => names.includes(channel));
    return channels.map((channel) => ({ accountId, phoneNumber: phone.e164, channel, source: 'IMPORT' as const }));
  });
}

function countOf(rows: readonly CheckedRow[], outcomes: readonly Upserted[]): db.Counts {
  const ended = (kind: Upserted['kind']): number => outcomes.filter((outcome) => outcome.kind === kind).length;
  const skipped = rows.filter((row) => 'doubled' in row).length;
  const faulty = rows.length - outcomes.length - skipped;
  return { created: ended('created'), updated: ended('updated'), skipped, errors: faulty + ended('limit') };
}

function rejectsOf(rows: readonly CheckedRow[], good: readonly GoodRow[], outcomes: readonly Upserted[]): db.Reject[] {
  const bad = rows.flatMap((row) => ('faults' in row ? [row] : []));
  const late = good.flatMap(({ line, cells }, i) =>
    outcomes[i]?.kind === 'limit'
      ? [{ line, faults: [LIMIT_REACHED], cells: cells.map((cell) => String(cell ?? '')) }]
      : [],
  );
  return [...bad, ...late].sort((a, b) => a.line - b.line);
}

async function storeRejects(tx: Db, current: db.ImportRow, rejects: readonly db.Reject[]): Promise<void> {
  const { accountId, id: importId, skipped, errors } = current;
  const left = Math.max(0, MAX_REJECTS - skipped - errors);
  const rows = rejects.slice(0, left).map((reject) => ({ ...reject, cells: truncateCells(reject.cells) }));
  if (rows.length > 0) await db.insertRejects(tx, { accountId, importId, rows });
}
