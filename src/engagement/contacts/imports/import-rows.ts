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
import { type CheckedRow, type GoodRow, truncateCells } from './rows.ts';
import * as db from './sql.ts';

/** Rows that were not brought in and are kept to be shown. */
const MAX_REJECTS = 10_000;

const NO_ROOM = { field: 'row', message: 'the plan has no room for another contact' };

/**
 * Brings checked rows in, in the caller's transaction: contacts are created or changed by their numbers, put into the list,
 * opted out where the file says so; nobody is opted in. What was not brought in is counted and kept with its reason. Of a
 * trial run nothing is written but the counts. Answers the import as it is then.
 * Errors: 400 when its list is no more.
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

/** A row as a contact; a column that the file leaves empty says nothing. */
function toContact({ cells, phone }: GoodRow, columns: readonly db.ImportColumn[]): UpsertRow {
  const values: Partial<Record<string, FieldValue>> = {};
  const customFields: Record<string, FieldValue> = {};
  for (const [i, { field, fieldId }] of columns.entries()) {
    const value = cells[i];
    if (value === null || value === undefined || field === null) continue;
    if (fieldId === null) values[field] = value;
    else customFields[fieldId] = value;
  }
  const text = (field: string): string | null => (typeof values[field] === 'string' ? values[field] : null);
  return {
    ...describePhone(phone),
    phoneNumber: phone.e164,
    firstName: text('firstName'),
    lastName: text('lastName'),
    givenFullName: text('fullName'),
    gender: GENDERS.find((gender) => gender === values['gender']) ?? null,
    email: text('email'),
    isTest: values['isTest'] === true,
    customFields,
  };
}

const GENDERS = ['MALE', 'FEMALE', 'OTHER'] as const;

/** What would become of rows, without writing them. */
async function predictOutcomes(
  tx: Db,
  { accountId, created }: db.ImportRow,
  rows: readonly GoodRow[],
): Promise<Upserted[]> {
  const book = await findBook(tx, { accountId });
  const numbers = rows.map(({ phone }) => phone.e164);
  const known = new Map((await listIdsByNumber(tx, { accountId, numbers })).map((c) => [c.phoneNumber, c.id]));
  const { remaining = null } = book ? limitsOf(book) : {};
  let room = remaining === null ? Infinity : remaining - created;
  return numbers.map((number) => {
    const id = known.get(number);
    if (id !== undefined) return { kind: 'updated', id };
    return room-- > 0 ? { kind: 'created', id: 0 } : { kind: 'limit' };
  });
}

export const unknownList = (listId: number): AppError =>
  new AppError('invalid', {
    message: `There is no list ${listId}`,
    details: [{ field: 'listId', message: `unknown: ${listId}` }],
  });

/** Opt-outs and the list. */
async function addOptOutsAndList(
  tx: Db,
  { accountId, listId, columns }: db.ImportRow,
  rows: readonly GoodRow[],
  outcomes: readonly Upserted[],
): Promise<void> {
  const there = rows.filter((_, i) => outcomes[i]?.kind !== 'limit');
  await optOut(tx, optOutsOf(accountId, columns, there));
  const contactIds = outcomes.flatMap((outcome) => (outcome.kind === 'limit' ? [] : [outcome.id]));
  if (listId === null) return;
  // A chunk may have no good row, and then nobody has claimed the book.
  if (contactIds.length === 0) await claimBook(tx, { accountId, to: 'associate' });
  if (!(await addImportedContacts(tx, { accountId, listId, contactIds }))) throw unknownList(listId);
}

function optOutsOf(accountId: number, columns: readonly db.ImportColumn[], rows: readonly GoodRow[]): OptOut[] {
  const at = columns.findIndex(({ field }) => field === 'optedOut');
  if (at < 0) return [];
  return rows.flatMap(({ cells, phone }) => {
    const said = String(cells[at] ?? '').split(',');
    const channels = CHANNELS.filter((channel) => said.includes(channel));
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
    outcomes[i]?.kind === 'limit' ? [{ line, faults: [NO_ROOM], cells: cells.map((cell) => String(cell ?? '')) }] : [],
  );
  return [...bad, ...late].sort((a, b) => a.line - b.line);
}

async function storeRejects(tx: Db, current: db.ImportRow, rejects: readonly db.Reject[]): Promise<void> {
  const { accountId, id: importId, skipped, errors } = current;
  const room = Math.max(0, MAX_REJECTS - skipped - errors);
  const rows = rejects.slice(0, room).map((reject) => ({ ...reject, cells: truncateCells(reject.cells) }));
  if (rows.length > 0) await db.insertRejects(tx, { accountId, importId, rows });
}
