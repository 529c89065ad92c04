import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { deleteEndpoint } from './sql.ts';

/** Deletes the account's endpoint; 404 when there is none. Call it in a transaction. */
export async function removeEndpoint(tx: Db, actor: Author): Promise<void> {
  const deleted = await deleteEndpoint(tx, { accountId: actor.accountId });
  if (!deleted) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'webhook.delete', subject: `webhook:${deleted.id}` });
}
