import type { Db } from '../../../platform/db/query.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { factsOf } from '../delivery/load.ts';
import { bodyOf } from '../delivery/payload.ts';
import type { PostRequest } from '../../../platform/outbound/post.ts';
import { openSecrets } from '../secrets.ts';
import { signedHeaders, timestampOf } from '../sign.ts';
import { findEndpoint } from '../sql.ts';
import type { Delivery } from '../delivery-log/sql.ts';

/**
 * What the last attempt to tell this event sent, by the webhook that is registered now: in its form, to its URL, signed
 * by the secrets that are valid at `now`. Null without a webhook, before the first attempt, when the message is gone or
 * the form has no such event, or the secrets were sealed with another SECRET_KEY: then nothing is sent either.
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

function opened(...[key, endpoint, now]: Parameters<typeof openSecrets>): string[] {
  try {
    return openSecrets(key, endpoint, now);
  } catch {
    return [];
  }
}
