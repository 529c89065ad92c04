import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { findEndpoint, moveEndpointToActive } from './sql.ts';

/**
 * Makes a disabled endpoint active again. Errors: 404 when the account has none, 409 when it is active. Call it in a
 * transaction.
 */
export async function enableEndpoint(tx: Db, actor: Author): Promise<void> {
  const { accountId } = actor;
  const endpoint = await moveEndpointToActive(tx, { accountId });
  if (endpoint) return recordAudit(tx, actor, { action: 'webhook.enable', subject: `webhook:${endpoint.id}` });
  const known = await findEndpoint(tx, { accountId });
  throw known
    ? new AppError('conflict', { message: 'The webhook is active' })
    : new AppError('not_found', { message: 'The account has no webhook' });
}
