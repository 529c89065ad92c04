import type { FileHandle } from 'node:fs/promises';
import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { findList } from '../lists/sql.ts';
import { createField } from '../fields/save.ts';
import { type FieldRow, listFields } from '../fields/sql.ts';
import type { Column } from './check-table.ts';
import type { NameOrder } from './cleaning/options.ts';
import { importRows, unknownList } from './import-rows.ts';
import type { ChunkPlace, Converted } from './reading/convert.ts';
import { unpackRows } from './rows.ts';
import type { Settings } from './settings.ts';
import * as db from './sql.ts';

/** Maximum number of rows that are imported within the request. */
const MAX_IMMEDIATE_ROWS = 5000;

/** Settings of an import, except those for reading its file. */
export type StartSettings = Pick<Settings, 'fileName' | 'dryRun' | 'listId'> & {
  readonly cleaning?: { readonly names: NameOrder };
};

/** A file that was read: its table, its rows in the file `chunks`, and the settings of the request. */
export type StartInput = {
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
  const there = fields.find((field) => field.id === id || field.name.toLowerCase() === custom.toLowerCase());
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
  await db.insertJob(tx, { accountId, importId });
  await db.notifyImports(tx);
  return row;
}

async function readChunk(file: FileHandle, { offset, bytes }: ChunkPlace): Promise<Buffer> {
  const octets = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(octets, 0, bytes, offset);
  if (bytesRead < bytes) throw new Error('the file of chunks is incomplete');
  return octets;
}
