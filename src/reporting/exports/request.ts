import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { insertRemovals } from '../../platform/storage/sql.ts';
import type { ExportFormat, Wanted } from './filters.ts';
import * as db from './sql.ts';

/** Of one account: those beyond would wait for hours. */
const MOST_WAITING = 1000;

/** Asks workers for an export. Call it in a transaction. Errors: 429 while too many wait. */
export async function requestExport(
  tx: Db,
  actor: Author,
  input: Wanted & { readonly format: ExportFormat },
): Promise<db.ExportRow> {
  const { accountId } = actor;
  await refuseMany(tx, accountId);
  const row = await db.insertExport(tx, { ...input, accountId });
  await db.insertJob(tx, { accountId, exportId: row.id });
  const detail = { type: row.type, format: row.format };
  await recordAudit(tx, actor, { action: 'export.create', subject: subjectOf(row), detail });
  return row;
}

/**
 * Asks for an expired or failed export again, with the same filters; links to its earlier file stay dead. Call it in a
 * transaction. Errors: 404, 400 while it is made or available, 429.
 */
export async function repeatExport(tx: Db, actor: Author, id: number): Promise<db.ExportRow> {
  const { accountId } = actor;
  const found = await db.findExport(tx, { accountId, id });
  if (!found) throw new AppError('not_found');
  await refuseMany(tx, accountId);
  const row = await db.moveToPending(tx, { accountId, id });
  if (!row) throw new AppError('invalid', { message: notNow(found) });
  if (found.fileKey !== null) await insertRemovals(tx, { accountId, keys: [found.fileKey], afterSeconds: 0 });
  await db.insertJob(tx, { accountId, exportId: id });
  await recordAudit(tx, actor, { action: 'export.repeat', subject: subjectOf(row) });
  return row;
}

const notNow = ({ status }: db.ExportRow): string =>
  status === 'PENDING' ? 'The export is being made' : 'The export is still available';

/** Ends an export, its links and its making, and gives its file away to be deleted. Call it in a transaction. Errors: 404. */
export async function removeExport(tx: Db, actor: Author, id: number): Promise<void> {
  const { accountId } = actor;
  await db.deleteJob(tx, { accountId, exportId: id });
  const gone = await db.deleteExport(tx, { accountId, id });
  if (!gone) throw new AppError('not_found');
  if (gone.fileKey !== null) await insertRemovals(tx, { accountId, keys: [gone.fileKey], afterSeconds: 0 });
  await recordAudit(tx, actor, { action: 'export.delete', subject: subjectOf({ id }) });
}

const subjectOf = ({ id }: { readonly id: number }): string => `export:${id}`;

async function refuseMany(tx: Db, accountId: number): Promise<void> {
  if ((await db.countJobs(tx, { accountId })) < MOST_WAITING) return;
  const message = `${MOST_WAITING} exports of this account wait already`;
  throw new AppError('rate_limited', { message, retryAfterSeconds: 60 });
}
