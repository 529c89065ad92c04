import { nameOfStatus } from '../../states.ts';
import type { AttemptResult, QueuedEvent, Target } from './account-queue.ts';
import { bodyOf } from './payload.ts';
import type { Poster, PostResult } from '../../../platform/outbound/post.ts';
import { signedHeaders, timestampOf } from '../sign.ts';
import type { Tracing } from '../../../platform/tracing.ts';

const GONE = 410;

/** `sendEvent` with a span for each attempt of a traced message; the request continues its trace. */
export async function sendTraced(
  tracing: Tracing,
  poster: Poster,
  event: QueuedEvent,
  target: Target,
): Promise<AttemptResult> {
  // Inbound messages start no trace.
  const span = event.kind === 'INBOUND' ? null : await tracing.begin('webhook', event);
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
  const body = facts && bodyOf(target.form, event, facts);
  if (body === null) return { kind: 'left out' };
  const at = new Date();
  if (target.secrets.length === 0)
    return failed('the gateway cannot open its secret: rotate it', { at, durationMs: 0 });
  const headers = signedHeaders({ id, timestamp: timestampOf(at), body, secrets: target.secrets });
  return resultOf(await post({ url: target.url, headers: { ...headers, ...more }, body }), at);
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
