import type { Db } from '../../../platform/db/query.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { factsOf } from '../delivery/load.ts';
import { bodyOf } from '../delivery/payload.ts';
import type { PostRequest } from '../../../platform/outbound/post.ts';
import { openSecrets } from '../secrets.ts';
import { signedHeaders, timestampOf } from '../sign.ts';
import { type Endpoint, findEndpoint } from '../sql.ts';
import type { Delivery } from '../delivery-log/sql.ts';

/**
 * Rebuilds the request of the last attempt to deliver this event, for the webhook that is registered now: its form, its
 * URL, and the secrets that are valid at `now`. Null without a webhook, before the first attempt, when the message was
 * deleted, when the form has no such event, or when the secrets were sealed with another SECRET_KEY.
 */
export async function requestOf(
  db: Db,
  { accountId }: { readonly accountId: number },
  delivery: Delivery,
  { secretKey, now }: { readonly secretKey: SecretKey; readonly now: Date },
): Promise<PostRequest | null> {
  const { id, messageId, triedAt } = delivery;
  const [endpoint, facts] = await Promise.all([
    findEndpoint(db, { accountId }),
    factsOf(db, [{ accountId, ...delivery }]).then((found) => found.get(messageId)),
  ]);
  const body = endpoint && facts ? bodyOf(endpoint.form, delivery, facts) : null;
  if (!endpoint || triedAt === null || body === null) return null;
  const secrets = opened(secretKey, endpoint, now);
  if (secrets.length === 0) return null;
  return { url: endpoint.url, headers: signedHeaders({ id, timestamp: timestampOf(triedAt), body, secrets }), body };
}

function opened(key: SecretKey, endpoint: Endpoint, now: Date): string[] {
  try {
    return openSecrets(key, endpoint, now);
  } catch {
    return [];
  }
}
