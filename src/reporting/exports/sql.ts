import { plainArray } from '../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';
import type { ExportFormat, Wanted } from './filters.ts';

export type ExportStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'FAILED';

export type ExportRow = Wanted & {
  accountId: number;
  id: number;
  format: ExportFormat;
  status: ExportStatus;
  version: number;
  rows: number;
  expectedRows: number | null;
  sizeBytes: number | null;
  fileKey: string | null;
  failure: string | null;
  createdAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
};

const COLUMNS = sql`account_id AS "accountId", id, type, format,
  CASE WHEN status = 'COMPLETED' AND expires_at <= now() THEN 'EXPIRED' ELSE status END AS status, filters, version, rows,
  expected_rows AS "expectedRows", size_bytes AS "sizeBytes", file_key AS "fileKey", failure, created_at AS "createdAt",
  completed_at AS "completedAt", expires_at AS "expiresAt"`;

type Of = { readonly accountId: number };
type One = Of & { readonly id: number };
type Job = Of & { readonly exportId: number };

export const insertExport = (
  db: Db,
  { accountId, type, format, filters }: Wanted & { accountId: number; format: ExportFormat },
): Promise<ExportRow> =>
  one(
    db,
    sql`INSERT INTO export (account_id, type, format, status, filters)
        VALUES (${accountId}, ${type}, ${format}, 'PENDING', ${JSON.stringify(filters)}) RETURNING ${COLUMNS}`,
  );

export const findExport = (db: Db, { accountId, id }: One): Promise<ExportRow | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM export WHERE account_id = ${accountId} AND id = ${id}`);

/** The newest first. */
export const listExports = (
  db: Db,
  { accountId, limit, offset }: Of & { limit: number; offset: number },
): Promise<ExportRow[]> =>
  many(
    db,
    sql`SELECT ${COLUMNS} FROM export WHERE account_id = ${accountId} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );

export async function countExports(db: Db, { accountId }: Of): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM export WHERE account_id = ${accountId}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** Exports that wait or are being made. */
export async function countJobs(db: Db, { accountId }: Of): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM export_job WHERE account_id = ${accountId}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** Whether there is anything to make, of any account. */
export async function hasJobs(db: Db): Promise<boolean> {
  return (await one<{ some: boolean }>(db, sql`SELECT EXISTS (SELECT FROM export_job) AS some`)).some;
}

/** From its end back to its beginning; undefined when it has not ended, or can still be fetched. */
export const moveToPending = (db: Db, { accountId, id }: One): Promise<ExportRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE export SET status = 'PENDING', version = version + 1, rows = 0, expected_rows = NULL, size_bytes = NULL,
          file_key = NULL, failure = NULL, completed_at = NULL, expires_at = NULL
        WHERE account_id = ${accountId} AND id = ${id}
          AND (status IN ('EXPIRED', 'FAILED') OR (status = 'COMPLETED' AND expires_at <= now()))
        RETURNING ${COLUMNS}`,
  );

/** How far it is. */
export const moveProgress = (
  db: Db,
  { accountId, id, rows, expectedRows }: One & { rows: number; expectedRows: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE export SET rows = ${rows}, expected_rows = ${expectedRows}
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'PENDING'`,
  );

export type Written = { readonly fileKey: string; readonly rows: number; readonly sizeBytes: number };

/** The file is there, and can be fetched for so many hours. */
export const moveToCompleted = (
  db: Db,
  { accountId, id, fileKey, rows, sizeBytes, hours }: One & Written & { hours: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE export SET status = 'COMPLETED', rows = ${rows}, size_bytes = ${sizeBytes}, file_key = ${fileKey},
          completed_at = now(), expires_at = now() + make_interval(hours => ${hours})
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'PENDING'`,
  );

export const moveToFailed = (db: Db, { accountId, id, failure }: One & { failure: string }): Promise<number> =>
  exec(
    db,
    sql`UPDATE export SET status = 'FAILED', failure = ${failure}, completed_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'PENDING'`,
  );

export type Expired = { accountId: number; fileKey: string };

/** Those of any account whose time is over; answers what files they had. */
export const moveToExpired = (db: Db, { limit }: { limit: number }): Promise<Expired[]> =>
  many(
    db,
    sql`WITH due AS (
          SELECT account_id, id, file_key FROM export WHERE status = 'COMPLETED' AND expires_at <= now()
          ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        UPDATE export e SET status = 'EXPIRED', file_key = NULL FROM due
        WHERE e.account_id = due.account_id AND e.id = due.id
        RETURNING e.account_id AS "accountId", due.file_key AS "fileKey"`,
  );

/** Answers what file it had; undefined: there is no such export. */
export const deleteExport = (db: Db, { accountId, id }: One): Promise<{ fileKey: string | null } | undefined> =>
  maybeOne(db, sql`DELETE FROM export WHERE account_id = ${accountId} AND id = ${id} RETURNING file_key AS "fileKey"`);

/** Of those that ended so long ago, of any account: what they filtered by shows people's numbers. */
export const deleteOldExports = (db: Db, { days }: { days: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM export WHERE status IN ('EXPIRED', 'FAILED') AND completed_at < now() - make_interval(days => ${days})`,
  );

/** Workers listen here; an export that waits wakes them when its transaction is committed. */
export const EXPORTS_CHANNEL = 'heliograph_exports';

/** Puts an export before the workers. */
export const insertJob = (db: Db, { accountId, exportId }: Job): Promise<number> =>
  exec(
    db,
    sql`WITH job AS (INSERT INTO export_job (export_id, account_id) VALUES (${exportId}, ${accountId}) RETURNING export_id)
        SELECT pg_notify(${EXPORTS_CHANNEL}, '') FROM job`,
  );

export type ClaimedJob = { readonly accountId: number; readonly exportId: number; readonly failures: number };

/**
 * Claims the export that has waited longest, of an account that is not among the busy ones: one that nobody makes, that a
 * dead worker made, or that this one left behind when its database was away. So it is not to be called for an export that
 * is under way here, and its account is busy then.
 */
export const claimJob = (
  db: Db,
  { owner, busyAccounts }: { owner: number; busyAccounts: readonly number[] },
): Promise<ClaimedJob | undefined> =>
  maybeOne(
    db,
    sql`UPDATE export_job SET owner = ${owner} WHERE export_id = (
          SELECT j.export_id FROM export_job j
          WHERE j.due_at <= now() AND j.account_id <> ALL(${plainArray(busyAccounts)}::bigint[])
            AND (j.owner IS NULL OR j.owner = ${owner} OR NOT ${isOwnerAlive(sql`j.owner`)})
          ORDER BY j.due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING account_id AS "accountId", export_id AS "exportId", failures`,
  );

/** Gives a job back, for some seconds later; only its owner does. */
export const moveJob = (
  db: Db,
  { exportId, owner, failures, delayMs }: Pick<Job, 'exportId'> & { owner: number; failures: number; delayMs: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE export_job SET owner = NULL, failures = ${failures}, due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE export_id = ${exportId} AND owner = ${owner}`,
  );

/** The job is done. None when another worker has taken it over, or somebody has deleted the export. */
export const deleteOwnJob = (db: Db, { exportId, owner }: Pick<Job, 'exportId'> & { owner: number }): Promise<number> =>
  exec(db, sql`DELETE FROM export_job WHERE export_id = ${exportId} AND owner = ${owner}`);

/** Nobody shall make it. */
export const deleteJob = (db: Db, { accountId, exportId }: Job): Promise<number> =>
  exec(db, sql`DELETE FROM export_job WHERE account_id = ${accountId} AND export_id = ${exportId}`);
