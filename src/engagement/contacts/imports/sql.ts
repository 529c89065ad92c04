import type { Author } from '../../../identity/audit/record.ts';
import { int, json, rowsOf } from '../../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import type { FieldError } from '../../../platform/errors.ts';

export type ImportStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED';

/** A column of the file: its name there, the field that it becomes (null: none), and the id of a custom field. */
export type ImportColumn = { readonly name: string; readonly field: string | null; readonly fieldId: number | null };

/** Who asked, as the audit log keeps people. */
export type ImportAuthor = Omit<Author, 'accountId'>;

export type ImportRow = {
  accountId: number;
  id: number;
  status: ImportStatus;
  fileName: string;
  dryRun: boolean;
  listId: number | null;
  author: ImportAuthor;
  columns: ImportColumn[];
  preview: string[][];
  total: number;
  created: number;
  updated: number;
  skipped: number;
  errors: number;
  failure: string | null;
  createdAt: Date;
  completedAt: Date | null;
};

/** Without what may be long. */
export type ImportInList = Omit<ImportRow, 'author' | 'columns' | 'preview'>;

const BRIEF = sql`account_id AS "accountId", id, status, file_name AS "fileName", dry_run AS "dryRun",
  list_id AS "listId", total, created, updated, skipped, errors, failure, created_at AS "createdAt",
  completed_at AS "completedAt"`;
const COLUMNS = sql`${BRIEF}, author, columns, preview`;

type Of = { readonly accountId: number };
type OfImport = Of & { readonly importId: number };

export type NewImport = Pick<
  ImportRow,
  'accountId' | 'fileName' | 'dryRun' | 'listId' | 'author' | 'columns' | 'preview' | 'total'
>;

export const insertImport = (db: Db, row: NewImport): Promise<ImportRow> =>
  one(
    db,
    sql`INSERT INTO contact_import (account_id, status, file_name, dry_run, list_id, author, columns, preview, total)
        VALUES (${row.accountId}, 'PENDING', ${row.fileName}, ${row.dryRun}, ${row.listId},
          ${JSON.stringify(row.author)}, ${JSON.stringify(row.columns)}, ${JSON.stringify(row.preview)}, ${row.total})
        RETURNING ${COLUMNS}`,
  );

export const findImport = (db: Db, { accountId, id }: Of & { id: number }): Promise<ImportRow | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM contact_import WHERE account_id = ${accountId} AND id = ${id}`);

/** The newest first. */
export const listImports = (
  db: Db,
  { accountId, limit, offset }: Of & { limit: number; offset: number },
): Promise<ImportInList[]> =>
  many(
    db,
    sql`SELECT ${BRIEF} FROM contact_import WHERE account_id = ${accountId}
        ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );

export async function countImports(db: Db, { accountId }: Of): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM contact_import WHERE account_id = ${accountId}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** How many rows became what. */
export type Counts = Readonly<Record<'created' | 'updated' | 'skipped' | 'errors', number>>;

/** Counts rows that are done. */
export const updateCounts = (
  db: Db,
  { accountId, id, created, updated, skipped, errors }: Of & Counts & { id: number },
): Promise<ImportRow> =>
  one(
    db,
    sql`UPDATE contact_import SET status = 'RUNNING', created = created + ${created}, updated = updated + ${updated},
          skipped = skipped + ${skipped}, errors = errors + ${errors}
        WHERE account_id = ${accountId} AND id = ${id} AND status IN ('PENDING', 'RUNNING') RETURNING ${COLUMNS}`,
  );

/** The end of an import: without a failure it is complete. */
export const moveToEnded = (
  db: Db,
  { accountId, id, failure }: Of & { id: number; failure: string | null },
): Promise<ImportRow> =>
  one(
    db,
    sql`UPDATE contact_import SET status = ${failure === null ? 'COMPLETED' : 'FAILED'}, failure = ${failure},
          completed_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND status IN ('PENDING', 'RUNNING') RETURNING ${COLUMNS}`,
  );

/** Of imports that ended so long ago: they show people's data. Of all accounts. */
export const deleteOldImports = (db: Db, { days }: { days: number }): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (
          DELETE FROM contact_import WHERE completed_at < now() - make_interval(days => ${days})
          RETURNING account_id, id)
        DELETE FROM contact_import_reject r USING gone WHERE r.account_id = gone.account_id AND r.import_id = gone.id`,
  );

export type Reject = {
  readonly line: number;
  readonly faults: readonly FieldError[];
  readonly cells: readonly string[];
};

export const insertRejects = (
  db: Db,
  { accountId, importId, rows }: OfImport & { rows: readonly Reject[] },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_import_reject (account_id, import_id, line, faults, cells)
        SELECT ${accountId}, ${importId}, u.line, u.faults::jsonb, u.cells::jsonb
        FROM ${rowsOf(rows, {
          line: int((r) => r.line),
          faults: json((r) => JSON.stringify(r.faults)),
          cells: json((r) => JSON.stringify(r.cells)),
        })} AS u`,
  );

/** In the order of the file, those behind a line. */
export const listRejects = (
  db: Db,
  { accountId, importId, afterLine, limit }: OfImport & { afterLine: number; limit: number },
): Promise<Reject[]> =>
  many(
    db,
    sql`SELECT line, faults, cells FROM contact_import_reject
        WHERE account_id = ${accountId} AND import_id = ${importId} AND line > ${afterLine} ORDER BY line LIMIT ${limit}`,
  );

export type Chunk = { readonly n: number; readonly rows: Buffer };

export const insertChunk = (db: Db, { accountId, importId, n, rows }: OfImport & Chunk): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_import_chunk (account_id, import_id, n, rows)
        VALUES (${accountId}, ${importId}, ${n}, ${rows})`,
  );

/** Takes the next chunk out, which comes back when the transaction is rolled back; undefined when all are done. */
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

export const insertJob = (db: Db, { accountId, importId }: OfImport): Promise<number> =>
  exec(db, sql`INSERT INTO contact_import_job (import_id, account_id) VALUES (${importId}, ${accountId})`);

export type Job = { readonly accountId: number; readonly importId: number; readonly failures: number };

/** The job that has waited longest and that nobody works at, of any account; held until the transaction ends. */
export const claimJob = (db: Db): Promise<Job | undefined> =>
  maybeOne(
    db,
    sql`SELECT account_id AS "accountId", import_id AS "importId", failures FROM contact_import_job
        WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );

/** Puts a job behind the others, or after a failure by some seconds into the future. */
export const updateJobDue = (
  db: Db,
  { importId, failures, delayMs }: { importId: number; failures: number; delayMs: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_import_job
        SET failures = ${failures}, due_at = clock_timestamp() + ${delayMs} * interval '1 millisecond'
        WHERE import_id = ${importId}`,
  );

export const deleteJob = (db: Db, { importId }: { importId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM contact_import_job WHERE import_id = ${importId}`);

/** Workers listen here; an import that waits wakes them when its transaction is committed. */
export const IMPORTS_CHANNEL = 'heliograph_imports';

export const notifyImports = (db: Db): Promise<number> => exec(db, sql`SELECT pg_notify(${IMPORTS_CHANNEL}, '')`);
