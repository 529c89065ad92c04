import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { sealSecret } from './secrets.ts';
import { makeSecret } from './sign.ts';
import { type Endpoint, moveEndpointSecret } from './sql.ts';

const OVERLAP_MS = 24 * 3600 * 1000;

/**
 * Gives the account's endpoint a new signing secret, which is shown this once; the one before signs beside it for 24
 * hours. A second rotation in that time ends the first of the three. 404 without an endpoint. Call it in a transaction.
 */
export async function rotateSecret(
  tx: Db,
  actor: Author,
  { secretKey }: { secretKey: SecretKey },
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  const plainSecret = makeSecret();
  const secret = sealSecret(secretKey, accountId, plainSecret);
  const endpoint = await moveEndpointSecret(tx, { accountId, secret, overlapMs: OVERLAP_MS });
  if (!endpoint) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'webhook.rotate-secret', subject: `webhook:${endpoint.id}` });
  return { ...endpoint, plainSecret };
}
