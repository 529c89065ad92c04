import { createHmac, randomBytes } from 'node:crypto';
import packageJson from '../../../package.json' with { type: 'json' };

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

const USER_AGENT = `Heliograph/${packageJson.version} (+webhooks)`;

/** A fresh signing secret in the notation of Standard Webhooks: `whsec_` and the base64 of 32 random bytes. */
export const makeSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export type Signable = {
  /** Of the event, the same at every attempt: receivers tell duplicates by it. */
  readonly id: string;
  /** Of the attempt, in whole seconds since 1970. */
  readonly timestamp: number;
  /** Exactly as it is sent. */
  readonly body: string;
  /** One, or two while a rotation overlaps; `whsec_…` */
  readonly secrets: readonly string[];
};

/** The `webhook-timestamp` of an attempt that began then. */
export const timestampOf = (at: Date): number => Math.floor(at.getTime() / 1000);

/**
 * Every header of a callback: content type, user agent, and the signature of Standard Webhooks 1.0 (symmetric, v1): the
 * HMAC-SHA256 of `id.timestamp.body`, one for each secret with a space between them.
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
