import { randomUUID } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { cancelRemovals } from '../../platform/storage/removals.ts';
import { insertRemovals } from '../../platform/storage/sql.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { openTemporaryFile } from '../../platform/storage/temporary-file.ts';
import { readContent, createWorkbookFile, writeRows } from './file/write.ts';
import { contentTypeOf, sheetNameOf } from './names.ts';
import type { Column } from './rows/cells.ts';
import { planRows } from './rows/plan.ts';
import { countRows } from './rows/sql.ts';
import { openSource, type SourceDeps } from './open-source.ts';
import * as db from './sql.ts';

export type MakeDeps = SourceDeps & {
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
export async function makeExport(deps: MakeDeps, job: db.ClaimedJob, signal: AbortSignal): Promise<void> {
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
