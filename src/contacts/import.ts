import type { FileHandle } from 'node:fs/promises';
import type { Pool, PoolClient } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { every, type Task } from '../core/background.ts';
import { CHANNELS } from '../core/channels.ts';
import type { Config } from '../core/config.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import { type Job, job } from '../core/jobs.ts';
import type { Log } from '../core/log.ts';
import { personOf } from '../core/phone.ts';
import { HOUR_MS } from '../core/time.ts';
import { type OptOut, optOut } from '../messages/consent.ts';
import { type OwnFields, readOwn } from './contact-fields.ts';
import { type Upserted, type UpsertRow, upsertContacts } from './contacts.ts';
import { createField, type FieldRow, type FieldValue, listFields } from './fields.ts';
import type { Column } from './import-check.ts';
import { type NameOrder, type SplitName, splitName } from './import-cleaning.ts';
import type { Settings } from './import-columns.ts';
import { type CheckedRow, type GoodRow, type RowFault, truncateCells, unpackRows } from './import-rows.ts';
import { KEPT_HOURS } from './import-schema.ts';
import * as db from './import-store.ts';
import { deleteOldImports, deleteOldUploads } from './import-store.ts';
import type { ChunkPlace, Converted } from './import-thread.ts';
import { claimBook, findBook, limitsOf } from './limits.ts';
import { addImportedContacts } from './list-members.ts';
import { findList } from './lists.ts';
import { newContact } from './read.ts';
import { listIdsByPerson } from './store.ts';

/** Maximum number of rows that are imported within the request. */
export const MAX_IMMEDIATE_ROWS = 5000;

type StartSettings = Pick<Settings, 'fileName' | 'dryRun' | 'listId'> & {
  readonly cleaning?: { readonly names: NameOrder };
};

/** A file that was read: its table, its rows in the file `chunks`, and the settings of the request. */
type StartInput = {
  readonly settings: StartSettings;
  readonly converted: Converted;
  readonly chunks: FileHandle;
};

/**
 * Starts an import. A small one is completed immediately, all or nothing; a larger one waits for a worker as PENDING.
 * New custom fields are created in either case. Call it in a transaction. Errors: 400 naming a list that the account
 * does not have or a field that cannot be created, 403 beyond 100 custom fields.
 */
export async function startImport(
  tx: Db,
  actor: Author,
  { settings, converted, chunks }: StartInput,
): Promise<db.ImportRow> {
  const { accountId, kind, keyId, userId, username } = actor;
  const { fileName, dryRun, listId } = settings;
  await refuseUnknownList(tx, accountId, listId);
  const columns = withNames(await resolveColumns(tx, actor, converted.columns, dryRun), settings.cleaning?.names);
  const { preview, total, cleaning } = converted;
  const author = { kind, keyId, userId, username };
  const made = { accountId, fileName, dryRun, listId, author, columns, preview, total, cleaning };
  const row = await db.insertImport(tx, made);
  const detail = { fileName, total, dryRun, listId };
  await recordAudit(tx, actor, { action: 'contact-import.create', subject: `contact-import:${row.id}`, detail });
  return total > MAX_IMMEDIATE_ROWS
    ? enqueue(tx, row, converted.chunks, chunks)
    : importNow(tx, row, converted.chunks, chunks);
}

/** Adds to columns of whole names the order in which they are split. */
const withNames = (columns: readonly db.ImportColumn[], names: NameOrder = 'keep'): readonly db.ImportColumn[] =>
  names === 'keep' ? columns : columns.map((column) => (column.field === 'fullName' ? { ...column, names } : column));

/** Rejects a list that the account does not have. Errors: 400. */
export async function refuseUnknownList(tx: Db, accountId: number, listId: number | null): Promise<void> {
  if (listId !== null && !(await findList(tx, { accountId, id: listId }))) throw unknownList(listId);
}

/** Finds the fields of the columns; those that do not exist yet are created, except in a dry run. */
async function resolveColumns(
  tx: Db,
  actor: Author,
  columns: readonly Column[],
  dryRun: boolean,
): Promise<db.ImportColumn[]> {
  const fields = await listFields(tx, { accountId: actor.accountId });
  const made: db.ImportColumn[] = [];
  for (const { name, target } of columns) {
    if (target === null) made.push({ name, field: null, fieldId: null });
    else if ('field' in target) made.push({ name, field: target.field, fieldId: null });
    else {
      const field = dryRun && target.id === null ? null : await findOrCreateField(tx, actor, target, fields);
      made.push({ name, field: `customField.${field?.name ?? target.custom}`, fieldId: field?.id ?? null });
    }
  }
  return made;
}

type Custom = Extract<Column['target'], { custom: string }>;

/**
 * Finds the custom field of a column, or creates it: it may have been created, renamed or deleted while the file was
 * read.
 */
async function findOrCreateField(tx: Db, actor: Author, { custom, type, id }: Custom, fields: readonly FieldRow[]) {
  const there = fields.find((field) => field.id === id || foldText(field.name) === foldText(custom));
  if (there?.type === type) return there;
  if (there) throw invalidFields([changed(custom)]);
  return createField(tx, actor, { name: custom, type, description: 'From an imported file' });
}

const changed = (custom: string): FieldError => ({
  field: 'file',
  message: `the custom field ${custom} was changed in the meantime: send the file again`,
});

async function importNow(
  tx: Db,
  row: db.ImportRow,
  places: readonly ChunkPlace[],
  file: FileHandle,
): Promise<db.ImportRow> {
  let current = row;
  for (const place of places) current = await importRows(tx, current, unpackRows(await readChunk(file, place)));
  return db.moveToEnded(tx, { accountId: row.accountId, id: row.id, failure: null });
}

async function enqueue(
  tx: Db,
  row: db.ImportRow,
  places: readonly ChunkPlace[],
  file: FileHandle,
): Promise<db.ImportRow> {
  const { accountId, id: importId } = row;
  for (const [n, place] of places.entries())
    await db.insertChunk(tx, { accountId, importId, n, rows: await readChunk(file, place) });
  await addJob(tx, row);
  return row;
}

async function readChunk(file: FileHandle, { offset, bytes }: ChunkPlace): Promise<Buffer> {
  const content = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(content, 0, bytes, offset);
  if (bytesRead < bytes) throw new Error('the file of chunks is incomplete');
  return content;
}

/** Tries after which an import is abandoned. */
const MAX_TRIES = 7;

const REST_NOT_IMPORTED = 'rows that were imported before stay, the rest was not imported';

type Deps = { readonly pool: Pool; readonly log: Log };
type ImportJob = Job<{ readonly importId: number }>;

/**
 * Imports that are too large for a request: each job is one chunk, so that imports take turns. Rows, progress and the
 * job for the next chunk are one transaction: whatever is killed, no row is imported twice and none is skipped.
 */
export const contactImport = job<ImportJob['payload'], Deps>(
  'contact.import',
  { concurrency: 1 },
  async (deps, one) => {
    try {
      await transaction(deps.pool, (tx) => importChunk(tx, one));
    } catch (err) {
      await handleFailure(deps, one, err);
    }
  },
);

/** Adds the job for the next chunk of an import. */
const addJob = (tx: Db, { accountId, id: importId }: Pick<db.ImportRow, 'accountId' | 'id'>): Promise<void> =>
  contactImport.add(tx, { accountId, key: String(importId), payload: { importId } });

async function importChunk(tx: PoolClient, one: ImportJob): Promise<void> {
  const { accountId, payload } = one;
  const current = await db.findImport(tx, { accountId, id: payload.importId });
  const chunk = await db.deleteNextChunk(tx, { accountId, ...payload });
  if (!current || !chunk) return endImport(tx, one, null);
  if (!(await one.end(tx))) throw new Error('another worker has this import');
  await importRows(tx, current, unpackRows(chunk.rows));
  await addJob(tx, current);
}

async function endImport(
  tx: PoolClient,
  { accountId, payload, end }: ImportJob,
  failure: string | null,
): Promise<void> {
  if (!(await end(tx))) return;
  await db.deleteChunks(tx, { accountId, ...payload });
  await db.moveToEnded(tx, { accountId, id: payload.importId, failure });
}

/**
 * Ends the import if the error has a message for people. Any other error is retried, and the import is abandoned after
 * some time.
 */
async function handleFailure({ pool, log }: Deps, one: ImportJob, err: unknown): Promise<void> {
  if (!(err instanceof AppError) && one.tries < MAX_TRIES) throw err;
  if (!(err instanceof AppError))
    log.error({ err, state: `import ${one.payload.importId}` }, 'an import was abandoned');
  const cause = err instanceof AppError ? err.message : 'Internal error';
  await transaction(pool, (tx) => endImport(tx, one, `${cause}: ${REST_NOT_IMPORTED}`));
}

/** Number of rejected rows that are stored to be shown. */
export const MAX_REJECTS = 10_000;

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
async function importRows(tx: Db, current: db.ImportRow, rows: readonly CheckedRow[]): Promise<db.ImportRow> {
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
  const values: Record<string, FieldValue> = {};
  const customFields: Record<string, FieldValue> = {};
  let split: SplitName | null = null;
  for (const [i, { field, fieldId, names }] of columns.entries()) {
    const value = cells[i];
    if (value === null || value === undefined || field === null) continue;
    if (names !== undefined) split = splitName(String(value), names);
    else if (fieldId === null) values[field] = value;
    else customFields[fieldId] = value;
  }
  // The cells of a checked row have what `read` of their fields returned.
  const { fullName, ...own } = values as Partial<OwnFields> & { readonly fullName?: string };
  // Names with their own columns take precedence over the parts of a whole name.
  return {
    ...newContact(phone),
    phoneNumber: phone.e164,
    ...readOwn({ ...(split && { firstName: split.firstName, lastName: split.lastName }), ...own }),
    givenFullName: fullName ?? split?.full ?? null,
    customFields,
  };
}

/** Predicts the outcomes of rows without writing them. */
async function predictOutcomes(
  tx: Db,
  { accountId, created }: db.ImportRow,
  rows: readonly GoodRow[],
): Promise<Upserted[]> {
  const book = await findBook(tx, { accountId });
  const numbers = rows.map(({ phone }) => phone.e164);
  const known = new Map((await listIdsByPerson(tx, { accountId, numbers })).map((c) => [c.person, c.id]));
  const { remaining = null } = book ? limitsOf(book) : {};
  let left = remaining === null ? Infinity : remaining - created;
  return numbers.map((number) => {
    const id = known.get(personOf(number));
    if (id !== undefined) return { kind: 'updated', id };
    return left-- > 0 ? { kind: 'created', id: 0 } : { kind: 'limit' };
  });
}

/** The error for a list that does not exist: 400. */
const unknownList = (listId: number): AppError =>
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

/** Deletes old imports and uploads: they contain personal data. */
export const importTasks = ({ pool, config }: { pool: Pool; config: Pick<Config, 'retentionDays'> }): Task[] => [
  { name: 'old imports', work: every(HOUR_MS, () => deleteOldImports(pool, { days: config.retentionDays })) },
  { name: 'old contact uploads', work: every(HOUR_MS, () => deleteOldUploads(pool, { hours: KEPT_HOURS })) },
];
