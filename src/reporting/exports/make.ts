import { randomUUID } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Pool } from 'pg';
import { openSnapshot } from '../../platform/db/snapshot.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { cancelRemovals } from '../../platform/storage/removals.ts';
import { insertRemovals } from '../../platform/storage/sql.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { openTemporaryFile } from '../../platform/storage/temporary-file.ts';
import { contentOf, openSheet, writeRows } from './file/write.ts';
import { contentTypeOf, sheetNameOf } from './names.ts';
import type { Column } from './rows/cells.ts';
import { planRows } from './rows/plan.ts';
import { countRows } from './rows/sql.ts';
import * as db from './sql.ts';

export type MakeDeps = {
  readonly pool: Pool;
  readonly connectionString: string;
  readonly storage: Pick<Storage, 'put'>;
  readonly dataDir: string;
  /** This worker's advisory lock key. */
  readonly owner: number;
  readonly log: Log;
};

/** Contract 8: so long a file can be fetched. */
const AVAILABLE_HOURS = 24;
/** What a dead worker was writing is deleted after this. */
const ABANDONED_SECONDS = 24 * 3600;
const PROGRESS_MS = 1000;

/**
 * Makes the file of an export and tells of it, in one transaction with the end of its job: a worker that was taken for dead
 * meanwhile commits nothing. Whatever fails or dies, the next attempt begins anew under another key, and what was written is
 * deleted.
 *
 * The rows are those of one moment. So that vacuum waits for the shortest time, they go to a file on this machine as fast as
 * PostgreSQL gives them; only then are they compressed or made a workbook, and go to the store, which may be slow.
 */
export async function makeExport(deps: MakeDeps, job: db.ClaimedJob, signal: AbortSignal): Promise<void> {
  const { pool, dataDir, owner } = deps;
  const { accountId, exportId } = job;
  const row = await db.findExport(pool, { accountId, id: exportId });
  if (row?.status !== 'PENDING') return void (await db.deleteOwnJob(pool, { exportId, owner }));
  await using file = await openTemporaryFile(dataDir);
  const { rows, columns } = await takeRows(deps, row, file, signal);
  const name = sheetNameOf(row.type);
  await using sheet = row.format === 'xlsx' ? await openSheet(file, { dataDir, name, columns }, signal) : null;
  await store(deps, row, { rows, content: addAbortSignal(signal, contentOf(sheet ?? file, row.format)) });
}

type Made = { readonly rows: number; readonly content: Readable };

async function store({ pool, storage, owner }: MakeDeps, row: db.ExportRow, { rows, content }: Made): Promise<void> {
  const { accountId, id } = row;
  const fileKey = `exports/${accountId}/${randomUUID()}`;
  const files = { accountId, keys: [fileKey] };
  await insertRemovals(pool, { ...files, afterSeconds: ABANDONED_SECONDS });
  const sizeBytes = await storage.put(fileKey, content, { contentType: contentTypeOf(row.format) });
  await transaction(pool, async (tx) => {
    const written = { accountId, id, fileKey, rows, sizeBytes, hours: AVAILABLE_HOURS };
    const isOurs = (await db.deleteOwnJob(tx, { exportId: id, owner })) === 1;
    if (isOurs && (await db.moveToCompleted(tx, written)) === 1) return cancelRemovals(tx, files);
    // Deleted, or another worker's by now.
    await insertRemovals(tx, { ...files, afterSeconds: 0 });
  });
}

type File = Awaited<ReturnType<typeof openTemporaryFile>>;
type Taken = { readonly rows: number; readonly columns: readonly Column[] };

async function takeRows(deps: MakeDeps, row: db.ExportRow, file: File, signal: AbortSignal): Promise<Taken> {
  const { accountId, format } = row;
  const snapshot = await openSnapshot(deps.connectionString, { accountId });
  try {
    const rows = await planRows(snapshot.db, accountId, row, new Date());
    const progress = createProgress(deps, row, await countRows(snapshot.db, rows));
    await writeRows({ snapshot, rows, format, file, onRows: progress.add, signal });
    return { rows: progress.rows(), columns: rows.columns };
  } finally {
    await snapshot.close();
  }
}

/** Says how far an export is, once a second at most. A saying that fails is not missed. */
function createProgress({ pool, log }: MakeDeps, { accountId, id }: db.ExportRow, expectedRows: number) {
  let rows = 0;
  let saidAt = performance.now();
  return {
    rows: () => rows,
    add(more: number): void {
      rows += more;
      if (performance.now() - saidAt < PROGRESS_MS) return;
      saidAt = performance.now();
      db.moveProgress(pool, { accountId, id, rows, expectedRows }).catch((err: unknown) =>
        log.debug({ err }, 'the progress of an export could not be told'),
      );
    },
  };
}
