import type { Pool } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { assertStepUp, type Prover } from '../accounts/session-routes.ts';
import type { Scope } from '../core/actor.ts';
import type { Channel } from '../core/channels.ts';
import {
  as,
  type Columns,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { AppError } from '../core/errors.ts';
import type { StatusName } from '../core/message-state.ts';
import { insertRemovals } from '../core/storage.ts';

/** Per account. More would wait for hours. */
const MAX_WAITING = 1000;
const EXPORTS_PER_RUN = 100;

/**
 * Requests an export, which a worker then makes. Call it in a transaction. Errors: 403 for all contacts without a
 * step-up, 429 while too many wait.
 */
export async function requestExport(
  tx: Db,
  actor: Author & Prover,
  input: ExportRequest & { readonly format: ExportFormat },
): Promise<ExportRow> {
  const { accountId } = actor;
  if (isOfAllContacts(input)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await insertExport(tx, { ...input, accountId });
  await insertJob(tx, { accountId, exportId: row.id });
  const detail = { type: row.type, format: row.format };
  await recordAudit(tx, actor, { action: 'export.create', subject: subjectOf(row), detail });
  return row;
}

/**
 * Requests an expired or failed export again, with the same filters. Links to its earlier file stay invalid. Call it in
 * a transaction. Errors: 404; 403 for all contacts without a step-up; 400 while the export is in progress or its file
 * is available; 429 while too many wait.
 */
export async function repeatExport(tx: Db, actor: Author & Prover, id: string): Promise<ExportRow> {
  const { accountId } = actor;
  const found = await findExport(tx, { accountId, id });
  if (!found) throw new AppError('not_found');
  if (isOfAllContacts(found)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await moveToPending(tx, { accountId, id });
  if (!row) throw new AppError('invalid', { message: whyNotRepeatable(found) });
  if (found.fileKey !== null) await insertRemovals(tx, { accountId, keys: [found.fileKey], afterSeconds: 0 });
  await insertJob(tx, { accountId, exportId: id });
  await recordAudit(tx, actor, { action: 'export.repeat', subject: subjectOf(row) });
  return row;
}

const isOfAllContacts = ({ type, filters }: ExportRequest): boolean =>
  type === 'CONTACTS' && Object.keys(filters).length === 0;

const whyNotRepeatable = ({ status }: ExportRow): string =>
  status === 'PENDING' ? 'The export is in progress' : 'The file of the export is still available';

/**
 * Deletes an export with its links, stops its making, and queues its file for deletion. Call it in a transaction.
 * Errors: 404.
 */
export async function removeExport(tx: Db, actor: Author, id: string): Promise<void> {
  const { accountId } = actor;
  await deleteJob(tx, { accountId, exportId: id });
  const gone = await deleteExport(tx, { accountId, id });
  if (!gone) throw new AppError('not_found');
  if (gone.fileKey !== null) await insertRemovals(tx, { accountId, keys: [gone.fileKey], afterSeconds: 0 });
  await recordAudit(tx, actor, { action: 'export.delete', subject: subjectOf({ id }) });
}

/**
 * Expires up to 100 exports of any account whose time is over, and queues their files for deletion. Returns their
 * number.
 */
export const expireExports = (pool: Pool): Promise<number> =>
  transaction(pool, async (tx) => {
    const expired = await moveToExpired(tx, { limit: EXPORTS_PER_RUN });
    for (const { accountId, fileKey } of expired)
      await insertRemovals(tx, { accountId, keys: [fileKey], afterSeconds: 0 });
    return expired.length;
  });

const subjectOf = ({ id }: { readonly id: string }): string => `export:${id}`;

async function checkWaiting(tx: Db, accountId: number): Promise<void> {
  if ((await countJobs(tx, { accountId })) < MAX_WAITING) return;
  const message = `${MAX_WAITING} exports of this account are already waiting`;
  throw new AppError('rate_limited', { message, retryAfterSeconds: 60 });
}

export const EXPORT_TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

/**
 * Scopes that a caller needs, in addition to `exports`, to request an export and to get its file, which contains all of
 * that data.
 */
export const CONTENT_SCOPES: Readonly<Record<ExportType, readonly Scope[]>> = {
  HISTORY: ['tracking', 'money'],
  CONTACTS: ['contacts'],
  DELIVERY_REPORTS: ['tracking', 'money'],
};

export const EXPORT_FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Messages accepted from one instant to another, both inclusive, as ISO 8601 in UTC. */
type Span = { readonly startDateTime: string; readonly endDateTime: string };

type HistoryFilters = Span & {
  readonly channel?: Channel;
  readonly status?: StatusName;
  readonly sender?: string;
  /** The recipient's number in E.164. */
  readonly recipient?: string;
};
/** Filters of contacts; without both fields: all contacts. */
type ContactFilters = {
  readonly listIds?: readonly number[];
  readonly contactIds?: readonly number[];
  /** Number of contacts, which lists of exports show instead of more than 1,000 `contactIds`. */
  readonly contactCount?: number;
};
export type ReportFilters = Span | { readonly campaignId: number };

/** Content of an export: its type and filters, as they are stored and as clients see them. */
export type ExportRequest =
  | { readonly type: 'HISTORY'; readonly filters: HistoryFilters }
  | { readonly type: 'CONTACTS'; readonly filters: ContactFilters }
  | { readonly type: 'DELIVERY_REPORTS'; readonly filters: ReportFilters };

export type ExportStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'FAILED';

const MAX_LISTED_CONTACTS = 1000;

/** The type and its filters are a separate list, because they are one union. */
const REQUEST: Columns<ExportRequest> = columns({
  type: as<ExportRequest['type']>('type'),
  filters: as<ExportRequest['filters']>('filters'),
});
const STATE = columns({
  accountId: as<number>('account_id'),
  id: as<string>('id'),
  format: as<ExportFormat>('format'),
  /** EXPIRED from `expires_at` on, even before a worker has marked the export as expired. */
  status: as<ExportStatus>(`CASE WHEN status = 'COMPLETED' AND expires_at <= now() THEN 'EXPIRED' ELSE status END`),
  /** Incremented when the export is made again; links name it, so links to an earlier file are not valid any more. */
  version: as<number>('version'),
  /** The number of rows written so far. */
  rows: as<number>('rows'),
  expectedRows: as<number | null>('expected_rows'),
  sizeBytes: as<number | null>('size_bytes'),
  fileKey: as<string | null>('file_key'),
  failure: as<string | null>('failure'),
  createdAt: as<Date>('created_at'),
  completedAt: as<Date | null>('completed_at'),
  expiresAt: as<Date | null>('expires_at'),
});
export type ExportRow = ExportRequest & RowOf<typeof STATE>;

type Of = { readonly accountId: number };
type One = Of & { readonly id: string };
type Job = Of & { readonly exportId: string };

export const insertExport = (
  db: Db,
  { accountId, type, format, filters }: ExportRequest & { accountId: number; format: ExportFormat },
): Promise<ExportRow> =>
  one(
    db,
    sql`INSERT INTO export (account_id, type, format, status, filters)
        VALUES (${accountId}, ${type}, ${format}, 'PENDING', ${JSON.stringify(filters)}) RETURNING ${REQUEST}, ${STATE}`,
  );

export const findExport = (db: Db, { accountId, id }: One): Promise<ExportRow | undefined> =>
  maybeOne(db, sql`SELECT ${REQUEST}, ${STATE} FROM export WHERE account_id = ${accountId} AND id = ${id}`);

/** A thousand exports of 100,000 contacts each would otherwise be a response of 700 MB. */
const BRIEF_REQUEST: Columns<ExportRequest> = columns({
  type: as<ExportRequest['type']>('type'),
  filters: as<ExportRequest['filters']>(
    `CASE WHEN jsonb_array_length(filters->'contactIds') > ${MAX_LISTED_CONTACTS}
          THEN filters - 'contactIds' || jsonb_build_object('contactCount', jsonb_array_length(filters->'contactIds'))
          ELSE filters END`,
  ),
});

/** Lists exports of an account, newest first. Filters by more than 1,000 contacts are replaced by their number. */
export const listExports = (
  db: Db,
  { accountId, limit, offset }: Of & { limit: number; offset: number },
): Promise<ExportRow[]> =>
  many(
    db,
    sql`SELECT ${BRIEF_REQUEST}, ${STATE} FROM export
        WHERE account_id = ${accountId} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );

export async function countExports(db: Db, { accountId }: Of): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM export WHERE account_id = ${accountId}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** Counts the exports of an account that wait or are in progress. */
async function countJobs(db: Db, { accountId }: Of): Promise<number> {
  const query = sql`SELECT count(*) AS total FROM export_job WHERE account_id = ${accountId}`;
  return (await one<{ total: number }>(db, query)).total;
}

/** Returns true if any account has an export that waits or is in progress. */
export async function hasJobs(db: Db): Promise<boolean> {
  return (await one<{ some: boolean }>(db, sql`SELECT EXISTS (SELECT FROM export_job) AS some`)).some;
}

/**
 * Moves an expired or failed export back to PENDING. Returns undefined when it is pending or its file is still
 * available.
 */
const moveToPending = (db: Db, { accountId, id }: One): Promise<ExportRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE export SET status = 'PENDING', version = version + 1, rows = 0, expected_rows = NULL, size_bytes = NULL,
          file_key = NULL, failure = NULL, completed_at = NULL, expires_at = NULL
        WHERE account_id = ${accountId} AND id = ${id}
          AND (status IN ('EXPIRED', 'FAILED') OR (status = 'COMPLETED' AND expires_at <= now()))
        RETURNING ${REQUEST}, ${STATE}`,
  );

/** Records the number of rows of a pending export that have been written, and that are expected. */
export const updateProgress = (
  db: Db,
  { accountId, id, rows, expectedRows }: One & { rows: number; expectedRows: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE export SET rows = ${rows}, expected_rows = ${expectedRows}
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'PENDING'`,
  );

export type ExportFile = { readonly fileKey: string; readonly rows: number; readonly sizeBytes: number };

/** Moves a pending export to COMPLETED. Its file is available for the given number of hours. */
export const moveToCompleted = (
  db: Db,
  { accountId, id, fileKey, rows, sizeBytes, hours }: One & ExportFile & { hours: number },
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

const EXPIRED_EXPORT = columns({
  accountId: as<number>('e.account_id'),
  fileKey: as<string>('due.file_key'),
});
export type ExpiredExport = RowOf<typeof EXPIRED_EXPORT>;

/** Moves up to `limit` exports of any account, whose time is over, to EXPIRED. Returns the keys of their files. */
const moveToExpired = (db: Db, { limit }: { limit: number }): Promise<ExpiredExport[]> =>
  many(
    db,
    sql`WITH due AS (
          SELECT account_id, id, file_key FROM export WHERE status = 'COMPLETED' AND expires_at <= now()
          ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        UPDATE export e SET status = 'EXPIRED', file_key = NULL FROM due
        WHERE e.account_id = due.account_id AND e.id = due.id
        RETURNING ${EXPIRED_EXPORT}`,
  );

/** Deletes an export and returns the key of its file. Returns undefined when there is no such export. */
const deleteExport = (db: Db, { accountId, id }: One): Promise<{ fileKey: string | null } | undefined> =>
  maybeOne(db, sql`DELETE FROM export WHERE account_id = ${accountId} AND id = ${id} RETURNING file_key AS "fileKey"`);

/**
 * Deletes exports of any account that ended more than `days` days ago: their filters may contain people's phone
 * numbers.
 */
export const deleteOldExports = (db: Db, { days }: { days: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM export WHERE status IN ('EXPIRED', 'FAILED') AND completed_at < now() - make_interval(days => ${days})`,
  );

/** The NOTIFY channel on which workers listen; a new job wakes them when its transaction commits. */
export const EXPORTS_CHANNEL = 'heliograph_exports';

/** Puts an export into the queue of the workers, and wakes them at commit. */
export const insertJob = (db: Db, { accountId, exportId }: Job): Promise<number> =>
  exec(
    db,
    sql`WITH job AS (INSERT INTO export_job (export_id, account_id) VALUES (${exportId}, ${accountId}) RETURNING export_id)
        SELECT pg_notify(${EXPORTS_CHANNEL}, '') FROM job`,
  );

const CLAIMED_JOB = columns({
  accountId: as<number>('account_id'),
  exportId: as<string>('export_id'),
  /** Number of consecutive failed attempts. */
  failures: as<number>('failures'),
});
export type ClaimedJob = RowOf<typeof CLAIMED_JOB>;

export type Claimant = {
  readonly owner: number;
  readonly busyAccounts: readonly number[];
  /** The accounts that have had a turn, the last one at the end. */
  readonly servedAccounts: readonly number[];
};

/**
 * Claims an export of an account that is not busy: one without a worker, one of a dead worker, or one that this worker
 * left behind when its database was unavailable. An export in progress here would be claimed again for that last
 * reason, so its account must be among the busy ones. Accounts take turns; of one account, the export that has waited
 * longest is first.
 */
export const claimJob = (db: Db, { owner, busyAccounts, servedAccounts }: Claimant): Promise<ClaimedJob | undefined> =>
  maybeOne(
    db,
    sql`UPDATE export_job SET owner = ${owner} WHERE export_id = (
          SELECT j.export_id FROM export_job j
          WHERE j.due_at <= now() AND j.account_id <> ALL(${plainArray(busyAccounts)}::bigint[])
            AND (j.owner IS NULL OR j.owner = ${owner} OR NOT ${isOwnerAlive(sql`j.owner`)})
          ORDER BY coalesce(array_position(${plainArray(servedAccounts)}::bigint[], j.account_id), 0), j.due_at
          LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING ${CLAIMED_JOB}`,
  );

/** Returns a job to the queue, due after `delayMs`. Only its owner can. */
export const updateJob = (
  db: Db,
  { exportId, owner, failures, delayMs }: Pick<Job, 'exportId'> & { owner: number; failures: number; delayMs: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE export_job SET owner = NULL, failures = ${failures}, due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE export_id = ${exportId} AND owner = ${owner}`,
  );

/** Deletes a job that its owner has finished. Returns 0 when another worker took it over or the export was deleted. */
export const deleteOwnJob = (db: Db, { exportId, owner }: Pick<Job, 'exportId'> & { owner: number }): Promise<number> =>
  exec(db, sql`DELETE FROM export_job WHERE export_id = ${exportId} AND owner = ${owner}`);

/** Deletes the job of an export, so that no worker makes it. */
const deleteJob = (db: Db, { accountId, exportId }: Job): Promise<number> =>
  exec(db, sql`DELETE FROM export_job WHERE account_id = ${accountId} AND export_id = ${exportId}`);
