import { randomUUID } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { assertStepUp, type Prover } from '../accounts/session-routes.ts';
import { every, type Task, untilIdle } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { splitHosts } from '../core/db/database-url.ts';
import type { Db } from '../core/db/query.ts';
import { openSnapshot, type Snapshot, transaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { type Job, job } from '../core/jobs.ts';
import type { Log } from '../core/log.ts';
import { cancelRemovals, insertRemovals, openTemporaryFile, type Storage } from '../core/storage.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import type { MediaLinks } from '../media/store.ts';
import { type Column, countRows, planRows } from './rows.ts';
import * as db from './store.ts';
import { deleteOldExports, type ExportRow, findExport } from './store.ts';
import { contentTypeOf, createWorkbookFile, readContent, sheetNameOf, writeRows } from './write.ts';

/** Maximum exports of an account that wait: more would wait for hours. */
export const MAX_WAITING = 1000;
const EXPORTS_PER_RUN = 100;

/**
 * Requests an export, which a worker then makes. Call it in a transaction. Errors: 403 for all contacts, opt-outs
 * or a person without a step-up, 429 while too many wait.
 */
export async function requestExport(
  tx: Db,
  actor: Author & Prover,
  input: db.ExportRequest & { readonly format: db.ExportFormat },
): Promise<ExportRow> {
  const { accountId } = actor;
  if (needsStepUp(input)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await db.insertExport(tx, { ...input, accountId });
  await addJob(tx, row);
  const detail = { type: row.type, format: row.format };
  await recordAudit(tx, actor, { action: 'export.create', subject: subjectOf(row), detail });
  return row;
}

/**
 * Requests an expired or failed export again, with the same filters. Links to its earlier file stay invalid. Call it in
 * a transaction. Errors: 404; 403 as for the request; 400 while the export is in progress or its file
 * is available; 429 while too many wait.
 */
export async function repeatExport(tx: Db, actor: Author & Prover, id: string): Promise<ExportRow> {
  const { accountId } = actor;
  const found = await existing(db.findExport(tx, { accountId, id }));
  if (needsStepUp(found)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await db.moveToPending(tx, { accountId, id });
  if (!row) throw new AppError('invalid', { message: whyNotRepeatable(found) });
  if (found.fileKey !== null) await insertRemovals(tx, { accountId, keys: [found.fileKey], afterSeconds: 0 });
  await addJob(tx, row);
  await recordAudit(tx, actor, { action: 'export.repeat', subject: subjectOf(row) });
  return row;
}

/** Returns true if an export has all contacts, all opt-outs, or everything about a person. */
const needsStepUp = ({ type, filters }: db.ExportRequest): boolean =>
  type === 'OPT_OUTS' || type === 'PERSON' || (type === 'CONTACTS' && Object.keys(filters).length === 0);

const whyNotRepeatable = ({ status }: ExportRow): string =>
  status === 'PENDING' ? 'The export is in progress' : 'The file of the export is still available';

/**
 * Deletes an export with its links, stops its making, and queues its file for deletion. Call it in a transaction.
 * Errors: 404.
 */
export async function removeExport(tx: Db, actor: Author, id: string): Promise<void> {
  const { accountId } = actor;
  const gone = await existing(db.deleteExport(tx, { accountId, id }));
  if (gone.fileKey !== null) await insertRemovals(tx, { accountId, keys: [gone.fileKey], afterSeconds: 0 });
  await recordAudit(tx, actor, { action: 'export.delete', subject: subjectOf({ id }) });
}

/**
 * Expires up to 100 exports of any account whose time is over, and queues their files for deletion. Returns their
 * number.
 */
export const expireExports = (pool: Pool): Promise<number> =>
  transaction(pool, async (tx) => {
    const expired = await db.moveToExpired(tx, { limit: EXPORTS_PER_RUN });
    for (const { accountId, fileKey } of expired)
      await insertRemovals(tx, { accountId, keys: [fileKey], afterSeconds: 0 });
    return expired.length;
  });

const subjectOf = ({ id }: { readonly id: string }): string => `export:${id}`;

async function checkWaiting(tx: Db, accountId: number): Promise<void> {
  if ((await db.countPending(tx, { accountId })) < MAX_WAITING) return;
  const message = `${MAX_WAITING} exports of this account are already waiting`;
  throw new AppError('rate_limited', { message, retryAfterSeconds: 60 });
}

/** The waits between the tries, each twice the last, add up to 4 minutes. Then the export fails. */
const MAX_TRIES = 8;

type ExportJob = Job<{ readonly exportId: string }>;

/**
 * Exports that workers make, each under its own key from the beginning. Each takes a database session and, for a
 * workbook, a thread.
 */
export const exportJob = job<ExportJob['payload'], MakeDeps>(
  'export',
  { concurrency: 2, perAccount: 1 },
  async (deps, one) => {
    try {
      await makeExport(deps, one);
    } catch (err) {
      if (one.signal.aborted || one.tries < MAX_TRIES) throw err;
      await failExport(deps, one, err);
    }
  },
);

const addJob = (tx: Db, { accountId, id }: Pick<ExportRow, 'accountId' | 'id'>): Promise<void> =>
  exportJob.add(tx, { accountId, key: id, payload: { exportId: id } });

async function failExport(
  { pool, log }: MakeDeps,
  { accountId, payload, end }: ExportJob,
  err: unknown,
): Promise<void> {
  log.error({ err, state: `export ${payload.exportId}` }, 'an export failed for good');
  const failure = 'Internal error: the file could not be created';
  await transaction(pool, async (tx) => {
    if (!(await end(tx))) return;
    const moved = await db.moveToFailed(tx, { accountId, id: payload.exportId, failure });
    if (moved === 1) await publishEnd(tx, { accountId, id: payload.exportId }, 'FAILED');
  });
}

type One = { readonly accountId: number; readonly id: string };

const publishEnd = (
  tx: Db,
  { accountId, id }: One,
  status: 'COMPLETED' | 'FAILED',
  rows: number | null = null,
): Promise<void> =>
  publishFacts(tx, [{ accountId, type: 'export.completed', about: id, data: { exportId: id, status, rows } }]);

type MakeDeps = Omit<SourceDeps, 'standbysUrl'> & {
  readonly pool: Pool;
  readonly storage: Pick<Storage, 'put'>;
  readonly config: Pick<Config, 'dataDir' | 'databaseUrlRead'>;
  readonly mediaLinks: MediaLinks;
};

/** Hours for which the file of an export can be downloaded. */
export const AVAILABLE_HOURS = 24;
/** The file that a worker was writing when it died is deleted after this time. */
const ABANDONED_SECONDS = 24 * 3600;
const PROGRESS_MS = 1000;

/**
 * Creates the file of an export, and completes the export in one transaction with the end of its job: a worker that was
 * taken for dead in the meantime commits nothing. Whatever fails or dies, the next attempt starts over under another
 * key, and the partial file is deleted.
 *
 * The rows come from one snapshot. To hold up vacuum as little as possible, they go to a file on this machine as fast
 * as PostgreSQL delivers them. Only then are they compressed or turned into a workbook, and uploaded to the store,
 * which may be slow.
 */
async function makeExport(deps: MakeDeps, one: ExportJob): Promise<void> {
  const { pool, config } = deps;
  const { accountId, payload, signal } = one;
  const row = await db.findExport(pool, { accountId, id: payload.exportId });
  if (row?.status !== 'PENDING') return;
  await using file = await openTemporaryFile(config.dataDir);
  const { rows, columns } = await copyRows(deps, row, { file, failures: one.tries - 1 }, signal);
  const table = { dataDir: config.dataDir, name: sheetNameOf(row.type), columns };
  await using sheet = row.format === 'xlsx' ? await createWorkbookFile(file, table, signal) : null;
  const content = addAbortSignal(signal, readContent(sheet ?? file, row.format));
  await storeFile(deps, row, { rows, content, end: one.end });
}

type Content = Pick<ExportJob, 'end'> & { readonly rows: number; readonly content: Readable };

async function storeFile({ pool, storage }: MakeDeps, row: ExportRow, { rows, content, end }: Content): Promise<void> {
  const { accountId, id } = row;
  const fileKey = `exports/${accountId}/${randomUUID()}`;
  const files = { accountId, keys: [fileKey] };
  await insertRemovals(pool, { ...files, afterSeconds: ABANDONED_SECONDS });
  const sizeBytes = await storage.put(fileKey, content, { contentType: contentTypeOf(row.format) });
  await transaction(pool, async (tx) => {
    const written = { accountId, id, fileKey, rows, sizeBytes, hours: AVAILABLE_HOURS };
    if ((await end(tx)) && (await db.moveToCompleted(tx, written)) === 1) {
      await publishEnd(tx, row, 'COMPLETED', rows);
      return cancelRemovals(tx, files);
    }
    // The export was deleted, or another worker has taken it over.
    await insertRemovals(tx, { ...files, afterSeconds: 0 });
  });
}

type Attempt = { readonly file: Awaited<ReturnType<typeof openTemporaryFile>>; readonly failures: number };
type CopiedRows = { readonly rows: number; readonly columns: readonly Column[] };

async function copyRows(
  deps: MakeDeps,
  row: ExportRow,
  { file, failures }: Attempt,
  signal: AbortSignal,
): Promise<CopiedRows> {
  const { accountId, format } = row;
  const snapshot = await openSource({ ...deps, standbysUrl: deps.config.databaseUrlRead }, row, failures);
  try {
    const { mediaLinks } = deps;
    const rows = await planRows(snapshot.db, accountId, row, { now: new Date(), mediaLinks });
    const progress = createProgressCounter(deps, row, await countRows(snapshot.db, rows));
    await writeRows({ snapshot, rows, format, file, onRows: progress.add, signal });
    return { rows: progress.rows(), columns: rows.columns };
  } finally {
    await snapshot.close();
  }
}

/** Counts the rows of an export and stores the count at most once a second. A failure to store it does no harm. */
function createProgressCounter({ pool, log }: MakeDeps, { accountId, id }: ExportRow, expectedRows: number) {
  let rows = 0;
  let storedAt = performance.now();
  return {
    rows: () => rows,
    add(more: number): void {
      rows += more;
      if (performance.now() - storedAt < PROGRESS_MS) return;
      storedAt = performance.now();
      db.updateProgress(pool, { accountId, id, rows, expectedRows }).catch((err: unknown) =>
        log.debug({ err }, 'the progress of an export could not be stored'),
      );
    },
  };
}

type SourceDeps = {
  readonly connectionString: string;
  readonly standbysUrl?: string | undefined;
  readonly log: Log;
};

/** A standby is behind by milliseconds, or by much more than this. */
const MAX_WAIT_MS = 2000;
const AGAIN_MS = 50;

/**
 * Opens the snapshot that an export is made from: of a standby that has received the request, so that the file is never
 * older than the request; otherwise of the primary. A standby may cancel a long read, so that after a failed attempt
 * (`failures`) only the primary is used.
 */
export async function openSource(deps: SourceDeps, row: ExportRow, failures: number): Promise<Snapshot> {
  const { accountId } = row;
  const standbys = failures === 0 && deps.standbysUrl !== undefined ? splitHosts(deps.standbysUrl) : [];
  for (const url of standbys) {
    const snapshot = await openStandby(url, row).catch((err: unknown) => {
      deps.log.warn({ err }, 'a standby cannot be read: the export is read from another server');
      return null;
    });
    if (snapshot !== null) return snapshot;
  }
  return openSnapshot(deps.connectionString, { accountId });
}

/** Resolves with null when the standby has not received the request in time. */
async function openStandby(url: string, { accountId, id, version }: ExportRow): Promise<Snapshot | null> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const snapshot = await openSnapshot(url, { accountId });
    try {
      const seen = await findExport(snapshot.db, { accountId, id });
      if (seen?.version === version && seen.status === 'PENDING') return snapshot;
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    await snapshot.close();
    if (performance.now() > deadline) return null;
    await delay(AGAIN_MS);
  }
}

export const exportTasks = ({ pool, config }: { pool: Pool; config: Pick<Config, 'retentionDays'> }): Task[] => [
  { name: 'expired exports', work: untilIdle(() => expireExports(pool), MINUTE_MS) },
  { name: 'old exports', work: every(HOUR_MS, () => deleteOldExports(pool, { days: config.retentionDays })) },
];
