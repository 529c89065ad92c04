import { createHmac, randomBytes } from 'node:crypto';
import { USER_AGENT } from '../../platform/lib/user-agent.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes a signing secret in the notation of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export const makeSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export type Signable = {
  /** The id of the event, the same at every attempt: receivers recognize duplicates by it. */
  readonly id: string;
  /** The time of the attempt, in whole seconds since 1970. */
  readonly timestamp: number;
  /** The body exactly as it is sent. */
  readonly body: string;
  /** One secret, or two while a rotation overlaps, each `whsec_…`. */
  readonly secrets: readonly string[];
};

/** Makes the `webhook-timestamp` of an attempt that began at this instant. */
export const timestampOf = (at: Date): number => Math.floor(at.getTime() / 1000);

/**
 * Makes all headers of an event: content type, user agent, and the signature of Standard Webhooks 1.0 (symmetric, v1):
 * the HMAC-SHA256 of `id.timestamp.body`, one per secret, separated by spaces.
 */
export function signedHeaders({ id, timestamp, body, secrets }: Signable): Record<string, string> {
  const content = `${id}.${timestamp}.${body}`;
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signature(content, secret)).join(' '),
  };
}

const signature = (content: string, secret: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(content)
    .digest('base64')}`;
