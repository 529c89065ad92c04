import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { type Endpoint, moveEndpointUrl } from './sql.ts';

/**
 * Leads the account's endpoint to another URL, which has been checked, or to the same one again. Id, form and secret
 * stay; a disabled endpoint becomes active. 404 when there is none. Call it in a transaction.
 */
export async function changeUrl(tx: Db, actor: Author, { url }: { url: string }): Promise<Endpoint> {
  const endpoint = await moveEndpointUrl(tx, { accountId: actor.accountId, url });
  if (!endpoint) throw new AppError('not_found');
  const detail = { host: new URL(url).host };
  await recordAudit(tx, actor, { action: 'webhook.update', subject: `webhook:${endpoint.id}`, detail });
  return endpoint;
}
