import type { Pool, PoolClient } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/lib/log.ts';
import { importRows } from './import-rows.ts';
import { unpackRows } from './rows.ts';
import * as db from './sql.ts';

/** Consecutive failures after which an import is abandoned; the waits between them add up to a minute. */
const MAX_FAILURES = 6;
const RETRY_MS = 2000;

const REST_NOT_IMPORTED = 'rows that were imported before stay, the rest was not imported';

/**
 * Imports one chunk of the import that has waited longest. Rows and progress are one transaction: whatever is killed,
 * no row is imported twice and none is skipped. The claim is a lock of the transaction, so the import of a worker that
 * died is immediately free. Returns true if there was a chunk.
 */
export async function importNextChunk(pool: Pool, log: Log): Promise<boolean> {
  let claimed: db.Job | undefined;
  try {
    return await transaction(pool, async (tx) => {
      claimed = await db.claimJob(tx);
      if (claimed) await importChunk(tx, claimed);
      return claimed !== undefined;
    });
  } catch (err) {
    if (!claimed) throw err;
    await handleFailure(pool, log, claimed, err);
    return true;
  }
}

async function importChunk(tx: PoolClient, { accountId, importId }: db.Job): Promise<void> {
  const current = await db.findImport(tx, { accountId, id: importId });
  const chunk = await db.deleteNextChunk(tx, { accountId, importId });
  if (!current || !chunk) return endImport(tx, { accountId, importId }, null);
  await importRows(tx, current, unpackRows(chunk.rows));
  await db.updateJobDue(tx, { importId, failures: 0, delayMs: 0 });
}

async function endImport(
  tx: PoolClient,
  job: Pick<db.Job, 'accountId' | 'importId'>,
  failure: string | null,
): Promise<void> {
  await db.deleteChunks(tx, job);
  await db.deleteJob(tx, job);
  await db.moveToEnded(tx, { accountId: job.accountId, id: job.importId, failure });
}

/**
 * Ends the import if the error has a message for people. Any other error is retried, and the import is abandoned after
 * some time.
 */
async function handleFailure(pool: Pool, log: Log, job: db.Job, err: unknown): Promise<void> {
  if (err instanceof AppError)
    return transaction(pool, (tx) => endImport(tx, job, `${err.message}: ${REST_NOT_IMPORTED}`));
  log.error({ err, state: `import ${job.importId}` }, 'a chunk of an import failed');
  const failures = job.failures + 1;
  if (failures > MAX_FAILURES)
    return transaction(pool, (tx) => endImport(tx, job, `Internal error: ${REST_NOT_IMPORTED}`));
  await db.updateJobDue(pool, { importId: job.importId, failures, delayMs: RETRY_MS * failures });
}
