import { randomUUID } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { always, createSignal, every, type Task, untilIdle } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { splitHosts } from '../core/db/database-url.ts';
import { openSnapshot, type Snapshot, transaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { cancelRemovals, insertRemovals, openTemporaryFile, type Storage } from '../core/storage.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { contentTypeOf, sheetNameOf } from './routes.ts';
import { type Column, countRows, planRows } from './rows.ts';
import * as db from './store.ts';
import { deleteOldExports, EXPORTS_CHANNEL, type ExportRow, expireExports, findExport } from './store.ts';
import { createWorkbookFile, readContent, writeRows } from './write.ts';

type Exporter = {
  /**
   * Starts waiting exports while there is capacity, and returns the ms until it must run again: soon while there are
   * jobs, since one may become due or its worker may die. One caller at a time.
   */
  work(): Promise<number>;
  /** Aborts the exports in progress; other workers make them from the beginning. */
  stop(): Promise<void>;
};

/**
 * Each export takes a database session and, for a workbook, a thread. One account never has more than one at a time.
 */
const MAX_CONCURRENCY = 2;
/** The waits between the attempts, each twice the last, add up to 4 minutes. Then the export fails. */
const MAX_RETRIES = 7;
const RETRY_MS = 2000;
const BUSY_MS = 1000;
const IDLE_MS = 10_000;
/** Number of accounts that are remembered, to give others their turn first. */
const MAX_SERVED = 1000;

type Deps = MakeDeps & {
  /** Called when an export has ended, so that there is capacity for another. */
  readonly onEnd: () => void;
};

/**
 * Creates the part of a worker that makes exports. Any number of workers may run it. A job names the advisory lock of
 * its worker, so the exports of a dead worker are free immediately.
 */
export function createExporter(deps: Deps): Exporter {
  const { pool, owner, onEnd } = deps;
  const abort = new AbortController();
  const runningByAccount = new Map<number, Promise<void>>();
  const served = new Set<number>();

  async function run(job: db.ClaimedJob): Promise<void> {
    try {
      await makeExport(deps, job, abort.signal);
    } catch (err) {
      await (abort.signal.aborted ? db.updateJob(pool, { ...job, owner, delayMs: 0 }) : handleFailure(deps, job, err));
    }
  }

  function start(job: db.ClaimedJob): void {
    const { accountId, exportId } = job;
    noteTurn(served, accountId);
    const work = run(job)
      // The database is unavailable. The job still belongs to this worker, which claims it again.
      .catch((err: unknown) =>
        deps.log.error({ err, state: `export ${exportId}` }, 'an export could not be returned to the queue'),
      )
      .finally(() => {
        runningByAccount.delete(accountId);
        onEnd();
      });
    runningByAccount.set(accountId, work);
  }

  return {
    async work() {
      while (runningByAccount.size < MAX_CONCURRENCY && !abort.signal.aborted) {
        const busyAccounts = [...runningByAccount.keys()];
        const job = await db.claimJob(pool, { owner, busyAccounts, servedAccounts: [...served] });
        if (!job) break;
        start(job);
      }
      return (await db.hasJobs(pool)) ? BUSY_MS : IDLE_MS;
    },
    async stop() {
      abort.abort();
      await Promise.all(runningByAccount.values());
    },
  };
}

/** Moves the account to the end of those that have had a turn. */
function noteTurn(served: Set<number>, accountId: number): void {
  served.delete(accountId);
  served.add(accountId);
  const [oldest] = served;
  if (served.size > MAX_SERVED && oldest !== undefined) served.delete(oldest);
}

/** Schedules another attempt, or marks the export as failed after the last one. */
async function handleFailure({ pool, owner, log }: MakeDeps, job: db.ClaimedJob, err: unknown): Promise<void> {
  const { accountId, exportId } = job;
  log.error({ err, state: `export ${exportId}` }, 'an export failed');
  const failures = job.failures + 1;
  if (failures <= MAX_RETRIES) {
    await db.updateJob(pool, { exportId, owner, failures, delayMs: RETRY_MS * 2 ** job.failures });
    return;
  }
  await transaction(pool, async (tx) => {
    if ((await db.deleteOwnJob(tx, { exportId, owner })) === 0) return;
    await db.moveToFailed(tx, { accountId, id: exportId, failure: 'Internal error: the file could not be created' });
  });
}

type MakeDeps = SourceDeps & {
  readonly pool: Pool;
  readonly storage: Pick<Storage, 'put'>;
  readonly dataDir: string;
  /** This worker's advisory lock key. */
  readonly owner: number;
};

/** Hours for which a file is available. */
const AVAILABLE_HOURS = 24;
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
async function makeExport(deps: MakeDeps, job: db.ClaimedJob, signal: AbortSignal): Promise<void> {
  const { pool, dataDir, owner } = deps;
  const { accountId, exportId } = job;
  const row = await db.findExport(pool, { accountId, id: exportId });
  if (row?.status !== 'PENDING') return void (await db.deleteOwnJob(pool, { exportId, owner }));
  await using file = await openTemporaryFile(dataDir);
  const { rows, columns } = await copyRows(deps, row, { file, failures: job.failures }, signal);
  const name = sheetNameOf(row.type);
  await using sheet = row.format === 'xlsx' ? await createWorkbookFile(file, { dataDir, name, columns }, signal) : null;
  await storeFile(deps, row, { rows, content: addAbortSignal(signal, readContent(sheet ?? file, row.format)) });
}

type Content = { readonly rows: number; readonly content: Readable };

async function storeFile(
  { pool, storage, owner }: MakeDeps,
  row: db.ExportRow,
  { rows, content }: Content,
): Promise<void> {
  const { accountId, id } = row;
  const fileKey = `exports/${accountId}/${randomUUID()}`;
  const files = { accountId, keys: [fileKey] };
  await insertRemovals(pool, { ...files, afterSeconds: ABANDONED_SECONDS });
  const sizeBytes = await storage.put(fileKey, content, { contentType: contentTypeOf(row.format) });
  await transaction(pool, async (tx) => {
    const written = { accountId, id, fileKey, rows, sizeBytes, hours: AVAILABLE_HOURS };
    const isOurs = (await db.deleteOwnJob(tx, { exportId: id, owner })) === 1;
    if (isOurs && (await db.moveToCompleted(tx, written)) === 1) return cancelRemovals(tx, files);
    // The export was deleted, or another worker has taken it over.
    await insertRemovals(tx, { ...files, afterSeconds: 0 });
  });
}

/** Destination of the rows, and number of failures of the export. */
type Attempt = { readonly file: Awaited<ReturnType<typeof openTemporaryFile>>; readonly failures: number };
type CopiedRows = { readonly rows: number; readonly columns: readonly Column[] };

async function copyRows(
  deps: MakeDeps,
  row: db.ExportRow,
  { file, failures }: Attempt,
  signal: AbortSignal,
): Promise<CopiedRows> {
  const { accountId, format } = row;
  const snapshot = await openSource(deps, row, failures);
  try {
    const rows = await planRows(snapshot.db, accountId, row, new Date());
    const progress = createProgressCounter(deps, row, await countRows(snapshot.db, rows));
    await writeRows({ snapshot, rows, format, file, onRows: progress.add, signal });
    return { rows: progress.rows(), columns: rows.columns };
  } finally {
    await snapshot.close();
  }
}

/** Counts the rows of an export and stores the count at most once a second. A failure to store it does no harm. */
function createProgressCounter({ pool, log }: MakeDeps, { accountId, id }: db.ExportRow, expectedRows: number) {
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
  /** The standbys, if there are any. */
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

type ExportTaskDeps = Omit<MakeDeps, 'dataDir' | 'standbysUrl'> & {
  readonly config: Pick<Config, 'dataDir' | 'retentionDays' | 'databaseUrlRead'>;
};

/** The tasks that make the files of exports, delete expired files, and delete old exports. */
export function exportTasks({ config, ...deps }: ExportTaskDeps): Task[] {
  const { pool } = deps;
  const ended = createSignal();
  const exporter = createExporter({
    ...deps,
    dataDir: config.dataDir,
    standbysUrl: config.databaseUrlRead,
    onEnd: ended.raise,
  });
  return [
    {
      name: 'exports',
      work: exporter.work,
      wakeOn: { [EXPORTS_CHANNEL]: always },
      signal: ended,
      close: exporter.stop,
    },
    { name: 'expired exports', work: untilIdle(() => expireExports(pool), MINUTE_MS) },
    { name: 'old exports', work: every(HOUR_MS, () => deleteOldExports(pool, { days: config.retentionDays })) },
  ];
}
