import type { AttemptResult, QueuedEvent, Target } from './account-queue.ts';
import { bodyOf } from './payload.ts';
import type { Poster, PostResult } from '../../../platform/outbound/post.ts';
import { signedHeaders, timestampOf } from '../sign.ts';

const GONE = 410;

/** Makes one attempt to deliver an event and returns its result. Never rejects. */
export async function sendEvent({ post }: Poster, event: QueuedEvent, target: Target): Promise<AttemptResult> {
  const { id, facts } = event;
  const body = facts && bodyOf(target.form, event, facts);
  if (body === null) return { kind: 'left out' };
  const at = new Date();
  if (target.secrets.length === 0)
    return failed('the gateway cannot open its secret: rotate it', { at, durationMs: 0 });
  const headers = signedHeaders({ id, timestamp: timestampOf(at), body, secrets: target.secrets });
  return resultOf(await post({ url: target.url, headers, body }), at);
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
