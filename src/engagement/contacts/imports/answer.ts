import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { toImportOut } from './schema.ts';
import { findImport, type ImportRow, listRejects } from './sql.ts';

/** Number of rejected rows that a response includes. */
const SHOWN_REJECTS = 1000;

/** Returns an import as the API shows it, with the faults of the first 1,000 rejected rows. */
export async function answerImport(db: Db, row: ImportRow) {
  const which = { accountId: row.accountId, importId: row.id, afterLine: -1, limit: SHOWN_REJECTS };
  return toImportOut(row, await listRejects(db, which));
}

/** Finds an import of the actor's account. Errors: 404. */
export async function findImportOrThrow(db: Db, { accountId }: Actor, id: number): Promise<ImportRow> {
  const row = await findImport(db, { accountId, id });
  if (!row) throw new AppError('not_found');
  return row;
}
