import type { Pool } from 'pg';
import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { assertStepUp, type Prover } from '../../identity/sessions/step-up.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { insertRemovals } from '../../platform/storage/sql.ts';
import type { ExportFormat, ExportRequest } from './filters.ts';
import * as db from './sql.ts';

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
): Promise<db.ExportRow> {
  const { accountId } = actor;
  if (isOfAllContacts(input)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await db.insertExport(tx, { ...input, accountId });
  await db.insertJob(tx, { accountId, exportId: row.id });
  const detail = { type: row.type, format: row.format };
  await recordAudit(tx, actor, { action: 'export.create', subject: subjectOf(row), detail });
  return row;
}

/**
 * Requests an expired or failed export again, with the same filters. Links to its earlier file stay invalid. Call it in
 * a transaction. Errors: 404; 403 for all contacts without a step-up; 400 while the export is in progress or its file
 * is available; 429 while too many wait.
 */
export async function repeatExport(tx: Db, actor: Author & Prover, id: string): Promise<db.ExportRow> {
  const { accountId } = actor;
  const found = await db.findExport(tx, { accountId, id });
  if (!found) throw new AppError('not_found');
  if (isOfAllContacts(found)) assertStepUp(actor);
  await checkWaiting(tx, accountId);
  const row = await db.moveToPending(tx, { accountId, id });
  if (!row) throw new AppError('invalid', { message: whyNotRepeatable(found) });
  if (found.fileKey !== null) await insertRemovals(tx, { accountId, keys: [found.fileKey], afterSeconds: 0 });
  await db.insertJob(tx, { accountId, exportId: id });
  await recordAudit(tx, actor, { action: 'export.repeat', subject: subjectOf(row) });
  return row;
}

const isOfAllContacts = ({ type, filters }: ExportRequest): boolean =>
  type === 'CONTACTS' && Object.keys(filters).length === 0;

const whyNotRepeatable = ({ status }: db.ExportRow): string =>
  status === 'PENDING' ? 'The export is in progress' : 'The file of the export is still available';

/**
 * Deletes an export with its links, stops its making, and queues its file for deletion. Call it in a transaction.
 * Errors: 404.
 */
export async function removeExport(tx: Db, actor: Author, id: string): Promise<void> {
  const { accountId } = actor;
  await db.deleteJob(tx, { accountId, exportId: id });
  const gone = await db.deleteExport(tx, { accountId, id });
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
    const expired = await db.moveToExpired(tx, { limit: EXPORTS_PER_RUN });
    for (const { accountId, fileKey } of expired)
      await insertRemovals(tx, { accountId, keys: [fileKey], afterSeconds: 0 });
    return expired.length;
  });

const subjectOf = ({ id }: { readonly id: string }): string => `export:${id}`;

async function checkWaiting(tx: Db, accountId: number): Promise<void> {
  if ((await db.countJobs(tx, { accountId })) < MAX_WAITING) return;
  const message = `${MAX_WAITING} exports of this account are already waiting`;
  throw new AppError('rate_limited', { message, retryAfterSeconds: 60 });
}
