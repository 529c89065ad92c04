import type { Pool } from 'pg';
import { transaction } from '../../../../platform/db/transaction.ts';
import type { Job } from '../../run/sql.ts';
import { deleteRecipients, deleteRun } from './sql.ts';

const RECIPIENTS_PER_STATEMENT = 10_000;

/** Deletes the rows of a campaign that was deleted before it started: a million rows are too many for the request. */
export async function cleanUpDeleted(pool: Pool, job: Job): Promise<void> {
  for (;;) {
    const deleted = await deleteRecipients(pool, job, { limit: RECIPIENTS_PER_STATEMENT });
    if (deleted < RECIPIENTS_PER_STATEMENT) break;
  }
  await transaction(pool, (tx) => deleteRun(tx, job));
}
