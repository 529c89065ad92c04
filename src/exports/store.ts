import type { Scope } from '../core/actor.ts';
import type { Channel } from '../core/channels.ts';
import {
  as,
  type Columns,
  columns,
  countRows,
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
import type { StatusName } from '../core/message-state.ts';

export const EXPORT_TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS', 'OPT_OUTS', 'PERSON'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

/**
 * Scopes that a caller needs, in addition to `exports`, to request an export and to get its file, which contains all of
 * that data.
 */
export const CONTENT_SCOPES: Readonly<Record<ExportType, readonly Scope[]>> = {
  HISTORY: ['tracking', 'money'],
  CONTACTS: ['contacts'],
  DELIVERY_REPORTS: ['tracking', 'money'],
  OPT_OUTS: ['contacts'],
  PERSON: ['keys', 'contacts', 'tracking', 'inbox', 'money'],
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
export type ReportFilters = Span | { readonly campaignId: number; readonly notReached?: true };

/** Content of an export: its type and filters, as they are stored and as clients see them. */
export type ExportRequest =
  | { readonly type: 'HISTORY'; readonly filters: HistoryFilters }
  | { readonly type: 'CONTACTS'; readonly filters: ContactFilters }
  | { readonly type: 'DELIVERY_REPORTS'; readonly filters: ReportFilters }
  | { readonly type: 'OPT_OUTS'; readonly filters: object }
  | { readonly type: 'PERSON'; readonly filters: { readonly addresses: readonly string[] } };

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
export const listExports = (db: Db, { accountId }: Of, page: Paging) =>
  pageRows<ExportRow>(
    db,
    {
      columns: sql`${BRIEF_REQUEST}, ${STATE}`,
      from: sql`FROM export WHERE account_id = ${accountId}`,
      order: sql`id DESC`,
    },
    page,
  );

/** Counts the exports of an account that wait or are in progress. */
export const countPending = (db: Db, { accountId }: Of): Promise<number> =>
  countRows(db, sql`FROM export WHERE account_id = ${accountId} AND status = 'PENDING'`);

/**
 * Moves an expired or failed export back to PENDING. Returns undefined when it is pending or its file is still
 * available.
 */
export const moveToPending = (db: Db, { accountId, id }: One): Promise<ExportRow | undefined> =>
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
type ExpiredExport = RowOf<typeof EXPIRED_EXPORT>;

/** Moves up to `limit` exports of any account, whose time is over, to EXPIRED. Returns the keys of their files. */
export const moveToExpired = (db: Db, { limit }: { limit: number }): Promise<ExpiredExport[]> =>
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
export const deleteExport = (db: Db, { accountId, id }: One): Promise<{ fileKey: string | null } | undefined> =>
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
