import { createHmac, randomBytes } from 'node:crypto';
import { nameOfStatus } from '../core/message-state.ts';
import { USER_AGENT } from '../core/outbound.ts';
import type { Poster, PostResult } from '../core/outbound-post.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import type { Tracing } from '../core/tracing.ts';
import type { AttemptResult, QueuedEvent, RetryPlan, Target } from './account-queue.ts';
import { envelopeOf } from './event-types.ts';
import { bodyOf, type Facts, type WebhookEvent } from './events.ts';
import { type Callback, urlFor } from './urls.ts';

const GONE = 410;

/** `sendEvent` with a span for each attempt of a traced message; the request continues its trace. */
export async function sendTraced(
  tracing: Tracing,
  poster: Poster,
  event: QueuedEvent,
  target: Target,
): Promise<AttemptResult> {
  // Only sent messages have one.
  const span = event.kind === 'INBOUND' || event.data !== null ? null : await tracing.begin('webhook', event);
  if (!span) return sendEvent(poster, event, target);
  const result = await sendEvent(poster, event, target, span.headers);
  if (result.kind !== 'acknowledged' && result.kind !== 'failed') return result;
  span.end({
    status: event.status === null ? event.kind : nameOfStatus(event.status),
    code: result.code === null ? null : String(result.code),
    failed: result.kind === 'failed',
  });
  return result;
}

/**
 * Makes one attempt to deliver an event, with these headers in addition to its own, and returns its result. Never
 * rejects.
 */
export async function sendEvent(
  { post }: Poster,
  event: QueuedEvent,
  target: Target,
  more: Readonly<Record<string, string>> = {},
): Promise<AttemptResult> {
  const { id, facts } = event;
  const body = facts && payloadOf(event, facts, target);
  if (body === null) return { kind: 'left out' };
  const at = new Date();
  if (target.secrets.length === 0)
    return failed('the gateway cannot open its secret: rotate it', { at, durationMs: 0 });
  const headers = signedHeaders({ id, timestamp: timestampOf(at), body, secrets: target.secrets });
  const all = { ...target.moreHeaders, ...headers, ...more };
  return resultOf(await post({ url: urlFor(target, callbackOf(facts)), headers: all, body }), at);
}

/** Returns the URL of its message to which an event goes. */
export const callbackOf = (facts: { readonly callback?: Callback | null } | null): Callback | null =>
  facts?.callback ?? null;

type Receiver = Pick<Target, 'form' | 'showsAmounts' | 'fileUrl'>;
type Loaded = Omit<QueuedEvent, 'seq' | 'outboxId' | 'attempts' | 'facts'>;

/** Makes the body of an event in the format of an endpoint, or null when that has no such event. */
export function payloadOf(event: Loaded, facts: object, receiver: Receiver): string | null {
  const { form } = receiver;
  if (form !== 'V2') return bodyOf(form, event as WebhookEvent, facts as Facts);
  const made = envelopeOf(event, facts, receiver);
  return made && JSON.stringify(made);
}

function resultOf(posted: PostResult, at: Date): AttemptResult {
  const durationMs = Math.round(posted.durationMs);
  if (posted.kind === 'failed') return failed(posted.reason, { at, durationMs });
  const { status: code, retryAfterMs, body: answer } = posted;
  const attempt = { at, durationMs, answer };
  if (code >= 200 && code < 300) return { kind: 'acknowledged', code, ...attempt };
  return { kind: 'failed', code, reason: null, retryAfterMs, unwanted: code === GONE, ...attempt };
}

const failed = (reason: string, attempt: { readonly at: Date; readonly durationMs: number }): AttemptResult => ({
  kind: 'failed',
  code: null,
  reason,
  retryAfterMs: null,
  unwanted: false,
  answer: null,
  ...attempt,
});

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes a signing secret in the notation of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export const makeSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

type Signable = {
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

/** The delay after each failed attempt: by default ten retries over about two days, `short` four within half an hour. */
const FULL_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
const RETRY_DELAYS_MS = {
  none: [],
  short: [5 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 24 * MINUTE_MS],
  full: FULL_MS,
} satisfies Record<RetryPlan, readonly number[]>;

/** Time after which the last repetition has been made. */
export const spanOf = (plan: RetryPlan): number => RETRY_DELAYS_MS[plan].reduce((sum, ms) => sum + ms, 0);

const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * Returns the delay in ms after the failed attempt number `attempts` (from 1), or null after the last attempt. It has
 * 20 % jitter either way, so that events that failed together do not return together, and is not shorter than the
 * receiver requested, up to 24 h.
 *
 * @param random from 0 to 1
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | null,
  random = Math.random(),
  plan: RetryPlan = 'full',
): number | null {
  const usual = RETRY_DELAYS_MS[plan][attempts - 1];
  if (usual === undefined) return null;
  const jittered = usual * (1 + JITTER * (2 * random - 1));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}
