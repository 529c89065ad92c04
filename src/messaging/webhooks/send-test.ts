import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { newId } from '../../platform/lib/ids.ts';
import { STATUS } from '../states.ts';
import { bodyOf, type Form, sampleFacts } from './delivery/payload.ts';
import type { Poster, PostResult } from '../../platform/outbound/post.ts';
import { openSecrets } from './secrets.ts';
import { signedHeaders, timestampOf } from './sign.ts';
import type { Endpoint } from './sql.ts';

/**
 * Posts one signed sample event to the endpoint, in its form: the delivery of a message to +15005550006 that never
 * existed. The event is not logged and not repeated.
 */
export function sendTest(
  { poster, secretKey }: { poster: Poster; secretKey: SecretKey },
  endpoint: Endpoint,
  now: Date,
): Promise<PostResult> {
  const body = sampleOf(endpoint.form, now);
  const secrets = openSecrets(secretKey, endpoint, now);
  const timestamp = timestampOf(now);
  return poster.post({ url: endpoint.url, headers: signedHeaders({ id: newId(), timestamp, body, secrets }), body });
}

function sampleOf(form: Form, at: Date): string {
  const event = { kind: 'DELIVERY', messageId: newId(), status: STATUS.DELIVERED, at, error: null } as const;
  const body = bodyOf(form, event, sampleFacts(at));
  if (body === null) throw new Error('a delivery has a body in both forms');
  return body;
}
