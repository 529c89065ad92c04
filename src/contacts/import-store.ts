import type { Author } from '../accounts/audit.ts';
import { csvLine } from '../core/csv.ts';
import { input, insertRows, int, json } from '../core/db/columns.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  pageRows,
  type Paging,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import type { CleaningReport, NameOrder } from './import-cleaning.ts';
import type { Encoding } from './import-encoding.ts';
import type { RowFault } from './import-rows.ts';
import type { FileFormat } from './import-thread.ts';

export type ImportStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED';

/**
 * A column of the file: its name there, the field that it becomes (null: it is ignored), the id if that is a custom
 * field, and for whole names the order in which they are split.
 */
export type ImportColumn = {
  readonly name: string;
  readonly field: string | null;
  readonly fieldId: number | null;
  readonly names?: Exclude<NameOrder, 'keep'>;
};

/** The author of the import, as audit entries store it. */
export type ImportAuthor = Omit<Author, 'accountId'>;

const IMPORT_IN_LIST = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  status: as<ImportStatus>('status'),
  fileName: as<string>('file_name'),
  dryRun: as<boolean>('dry_run'),
  listId: as<number | null>('list_id'),
  total: as<number>('total'),
  created: as<number>('created'),
  updated: as<number>('updated'),
  skipped: as<number>('skipped'),
  errors: as<number>('errors'),
  /** Reason for the failure of the import; null if it did not fail. */
  failure: as<string | null>('failure'),
  createdAt: as<Date>('created_at'),
  completedAt: as<Date | null>('completed_at'),
});

const IMPORT_DETAILS = columns({
  author: as<ImportAuthor>('author'),
  columns: as<readonly ImportColumn[]>('columns'),
  preview: as<readonly (readonly string[])[]>('preview'),
  cleaning: as<CleaningReport>('cleaning'),
});

/** An import in a list: fields that may be long are omitted. */
export type ImportInList = RowOf<typeof IMPORT_IN_LIST>;

export type ImportRow = ImportInList & RowOf<typeof IMPORT_DETAILS>;

/** An import that has not ended. */
const UNFINISHED = sql`status IN ('PENDING', 'RUNNING')`;

type Of = { readonly accountId: number };
type OfImport = Of & { readonly importId: number };

export type NewImport = Pick<
  ImportRow,
  'accountId' | 'fileName' | 'dryRun' | 'listId' | 'author' | 'columns' | 'preview' | 'total' | 'cleaning'
>;

export const insertImport = (db: Db, row: NewImport): Promise<ImportRow> =>
  one(
    db,
    sql`INSERT INTO contact_import (account_id, status, file_name, dry_run, list_id, author, columns, preview, cleaning,
          total)
        VALUES (${row.accountId}, 'PENDING', ${row.fileName}, ${row.dryRun}, ${row.listId},
          ${JSON.stringify(row.author)}, ${JSON.stringify(row.columns)}, ${JSON.stringify(row.preview)},
          ${JSON.stringify(row.cleaning)}, ${row.total})
        RETURNING ${IMPORT_IN_LIST}, ${IMPORT_DETAILS}`,
  );

export const findImport = (db: Db, { accountId, id }: Of & { id: number }): Promise<ImportRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${IMPORT_IN_LIST}, ${IMPORT_DETAILS} FROM contact_import WHERE account_id = ${accountId} AND id = ${id}`,
  );

/** Reads a page of imports, the newest first. */
export const listImports = (db: Db, { accountId }: Of, page: Paging) =>
  pageRows(
    db,
    {
      columns: IMPORT_IN_LIST,
      from: sql`FROM contact_import WHERE account_id = ${accountId}`,
      order: sql`id DESC`,
    },
    page,
  );

export type Counts = Readonly<Record<'created' | 'updated' | 'skipped' | 'errors', number>>;

/** Adds the outcomes of rows to an unfinished import, and marks it as running. */
export const updateCounts = (
  db: Db,
  { accountId, id, created, updated, skipped, errors }: Of & Counts & { id: number },
): Promise<ImportRow> =>
  one(
    db,
    sql`UPDATE contact_import SET status = 'RUNNING', created = created + ${created}, updated = updated + ${updated},
          skipped = skipped + ${skipped}, errors = errors + ${errors}
        WHERE account_id = ${accountId} AND id = ${id} AND ${UNFINISHED}
        RETURNING ${IMPORT_IN_LIST}, ${IMPORT_DETAILS}`,
  );

/** Ends an import: as completed, or with a failure as failed. */
export async function moveToEnded(
  db: Db,
  { accountId, id, failure }: Of & { id: number; failure: string | null },
): Promise<ImportRow> {
  const ended = await one(
    db,
    sql`UPDATE contact_import SET status = ${failure === null ? 'COMPLETED' : 'FAILED'}, failure = ${failure},
          completed_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND ${UNFINISHED}
        RETURNING ${IMPORT_IN_LIST}, ${IMPORT_DETAILS}`,
  );
  const status = failure === null ? 'COMPLETED' : 'FAILED';
  const data = { importId: id, status, created: ended.created, updated: ended.updated } as const;
  await publishFacts(db, [{ accountId, type: 'import.completed', about: id, data }]);
  return ended;
}

/** Deletes imports of all accounts that ended more than `days` ago, because they contain personal data. */
export const deleteOldImports = (db: Db, { days }: { days: number }): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (
          DELETE FROM contact_import WHERE completed_at < now() - make_interval(days => ${days})
          RETURNING account_id, id)
        DELETE FROM contact_import_reject r USING gone WHERE r.account_id = gone.account_id AND r.import_id = gone.id`,
  );

const REJECT = columns({
  /** The line of the file, from 1. */
  line: as<number>('line'),
  faults: as<readonly RowFault[]>('faults'),
  cells: as<readonly string[]>('cells'),
});

/** A row that was not imported, with the reasons. */
export type Reject = Readonly<RowOf<typeof REJECT>>;

export const insertRejects = (
  db: Db,
  { accountId, importId, rows }: OfImport & { rows: readonly Reject[] },
): Promise<number> =>
  exec(
    db,
    insertRows(
      'contact_import_reject',
      rows.map(({ line, faults, cells }) => ({ line, faults: JSON.stringify(faults), cells: JSON.stringify(cells) })),
      { line: int, faults: input(json), cells: input(json) },
      {
        account_id: sql`${accountId}`,
        import_id: sql`${importId}`,
        faults: sql`u.faults::jsonb`,
        cells: sql`u.cells::jsonb`,
      },
    ),
  );

/** Lists up to `limit` rejected rows after a line, in the order of the file. */
export const listRejects = (
  db: Db,
  { accountId, importId, afterLine, limit }: OfImport & { afterLine: number; limit: number },
): Promise<Reject[]> =>
  many(
    db,
    sql`SELECT ${REJECT} FROM contact_import_reject
        WHERE account_id = ${accountId} AND import_id = ${importId} AND line > ${afterLine} ORDER BY line LIMIT ${limit}`,
  );

/** Reads a page of the rejected rows of an import with a fault of this cause in this field, in the order of the file. */
export const listRejectsWith = (
  db: Db,
  { accountId, importId, fault }: OfImport & { fault: FaultFilter },
  page: Paging,
) =>
  pageRows(
    db,
    {
      columns: REJECT,
      from: sql`FROM contact_import_reject
        WHERE account_id = ${accountId} AND import_id = ${importId} AND ${hasFault(fault)}`,
      order: sql`line`,
    },
    page,
  );

/** Fault that the rejected rows of a list have in common; null: none. */
export type FaultFilter = { readonly cause?: string; readonly field?: string } | null;

const hasFault = (fault: FaultFilter) =>
  fault === null ? sql`true` : sql`faults @> ${JSON.stringify([fault])}::jsonb`;

/** Rows of an import that wait to be processed: the chunk with number `n`, packed by `packRows`. */
export type Chunk = { readonly n: number; readonly rows: Buffer };

export const insertChunk = (db: Db, { accountId, importId, n, rows }: OfImport & Chunk): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_import_chunk (account_id, import_id, n, rows)
        VALUES (${accountId}, ${importId}, ${n}, ${rows})`,
  );

/** Deletes and returns the next chunk; a rollback of the transaction restores it. Undefined when all are done. */
export const deleteNextChunk = (db: Db, { accountId, importId }: OfImport): Promise<Chunk | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM contact_import_chunk
        WHERE account_id = ${accountId} AND import_id = ${importId}
          AND n = (SELECT min(n) FROM contact_import_chunk
                   WHERE account_id = ${accountId} AND import_id = ${importId})
        RETURNING n, rows`,
  );

export const deleteChunks = (db: Db, { accountId, importId }: OfImport): Promise<number> =>
  exec(db, sql`DELETE FROM contact_import_chunk WHERE account_id = ${accountId} AND import_id = ${importId}`);

const UPLOAD = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  fileName: as<string>('file_name'),
  sizeBytes: as<number>('size_bytes'),
  format: as<FileFormat>('format'),
  /** Encoding as detected in the whole file; null for XLSX. */
  encoding: as<Encoding | null>('encoding'),
  /** Share of the file that the check or import in progress has read, from 0 to 1; null: none is in progress. */
  progress: as<number | null>('progress'),
  /** True if it was imported; its content has then been deleted. */
  taken: as<boolean>('taken'),
  createdAt: as<Date>('created_at'),
});

/** A file that was received and not imported yet. */
export type UploadRow = Readonly<RowOf<typeof UPLOAD>>;
type OfUpload = Of & { readonly uploadId: number };

type NewUpload = Pick<UploadRow, 'accountId' | 'fileName' | 'sizeBytes' | 'format' | 'encoding'>;

export const insertUpload = (db: Db, row: NewUpload): Promise<UploadRow> =>
  one(
    db,
    sql`INSERT INTO contact_upload (account_id, file_name, size_bytes, format, encoding)
        VALUES (${row.accountId}, ${row.fileName}, ${row.sizeBytes}, ${row.format}, ${row.encoding})
        RETURNING ${UPLOAD}`,
  );

export const findUpload = (db: Db, { accountId, uploadId }: OfUpload): Promise<UploadRow | undefined> =>
  maybeOne(db, sql`SELECT ${UPLOAD} FROM contact_upload WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Records the share of a file that has been read; null: nothing reads it any more. */
export const updateProgress = (
  db: Db,
  { accountId, uploadId, progress }: OfUpload & { progress: number | null },
): Promise<number> =>
  exec(db, sql`UPDATE contact_upload SET progress = ${progress} WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Marks a file as imported; returns 0 if it is already. */
export const moveToTaken = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_upload SET taken = true WHERE account_id = ${accountId} AND id = ${uploadId} AND NOT taken`,
  );

export const deleteParts = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload_part WHERE account_id = ${accountId} AND upload_id = ${uploadId}`);

/** Deletes a file with its content. */
export const deleteUpload = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Deletes the oldest files of an account, except `kept`. */
export const deleteSurplusUploads = (db: Db, { accountId, kept }: Of & { kept: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_upload
        WHERE account_id = ${accountId}
          AND id IN (SELECT id FROM contact_upload WHERE account_id = ${accountId} ORDER BY id DESC OFFSET ${kept})`,
  );

/** Deletes files of all accounts that are older than `hours`, because they contain personal data. */
export const deleteOldUploads = (db: Db, { hours }: { hours: number }): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload WHERE created_at < now() - make_interval(hours => ${hours})`);

/** A compressed piece of the content of a file, with its number from 0. */
type Part = { readonly n: number; readonly bytes: Buffer };

export const insertPart = (db: Db, { accountId, uploadId, n, bytes }: OfUpload & Part): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_upload_part (account_id, upload_id, n, bytes)
        VALUES (${accountId}, ${uploadId}, ${n}, ${bytes})`,
  );

/** Lists up to `limit` pieces from number `from` on, in order. */
export const listParts = (
  db: Db,
  { accountId, uploadId, from, limit }: OfUpload & { from: number; limit: number },
): Promise<Part[]> =>
  many(
    db,
    sql`SELECT n, bytes FROM contact_upload_part
        WHERE account_id = ${accountId} AND upload_id = ${uploadId} AND n >= ${from} ORDER BY n LIMIT ${limit}`,
  );

const ROWS_PER_PIECE = 500;

/**
 * Yields the rejected rows as CSV, in pieces: the columns of the file, the line of each row, and its faults. Once
 * corrected, this can be imported as the next file.
 */
export async function* rejectsCsv(
  db: Db,
  { accountId, id: importId, columns }: Pick<ImportRow, 'accountId' | 'id' | 'columns'>,
): AsyncGenerator<string> {
  yield csvLine([...columns.map(({ name }) => name), 'importLine', 'importError']);
  let afterLine = -1;
  for (;;) {
    const rows = await listRejects(db, { accountId, importId, afterLine, limit: ROWS_PER_PIECE });
    if (rows.length === 0) return;
    yield rows.map((row) => lineOf(row, columns.length)).join('');
    afterLine = rows.at(-1)?.line ?? afterLine;
  }
}

/** Makes a line of the CSV. The row may have fewer cells than there are columns, or more. */
function lineOf({ line, faults, cells }: Reject, columns: number): string {
  const own = Array.from({ length: columns }, (_, i) => cells[i] ?? '');
  return csvLine([...own, String(line), faults.map(({ field, message }) => `${field} ${message}`).join('; ')]);
}
