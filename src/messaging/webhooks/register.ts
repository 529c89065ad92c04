import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { sealSecret } from './secrets.ts';
import { makeSecret } from './sign.ts';
import { type Endpoint, insertEndpoint } from './sql.ts';

export type Registration = Pick<Endpoint, 'url' | 'form'> & { readonly secretKey: SecretKey };

/**
 * Makes this URL, which has been checked, the one endpoint of the account, in place of an earlier one. Answers it with
 * its signing secret, which is shown this once. Call it in a transaction.
 */
export async function registerEndpoint(
  tx: Db,
  actor: Author,
  { url, form, secretKey }: Registration,
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  const plainSecret = makeSecret();
  const secret = sealSecret(secretKey, accountId, plainSecret);
  const endpoint = await insertEndpoint(tx, { accountId, url, form, method: 'POST', secret });
  // The host alone: the rest of a URL often holds a token.
  const detail = { host: new URL(url).host, form };
  await recordAudit(tx, actor, { action: 'webhook.create', subject: `webhook:${endpoint.id}`, detail });
  return { ...endpoint, plainSecret };
}
