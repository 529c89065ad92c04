import type { Ending, LaneEvent, Target } from './lane.ts';
import { bodyOf } from './payload.ts';
import type { Poster, PostResult } from '../../../platform/outbound/post.ts';
import { signedHeaders, timestampOf } from '../sign.ts';

const GONE = 410;

/** Tries once to deliver one event, and tells what came of it. Never rejects. */
export async function sendEvent({ post }: Poster, event: LaneEvent, target: Target): Promise<Ending> {
  const { id, facts } = event;
  const body = facts && bodyOf(target.form, event, facts);
  if (body === null) return { kind: 'left out' };
  const at = new Date();
  if (target.secrets.length === 0)
    return failed('the gateway cannot open its secret: rotate it', { at, durationMs: 0 });
  const headers = signedHeaders({ id, timestamp: timestampOf(at), body, secrets: target.secrets });
  return endingOf(await post({ url: target.url, headers, body }), at);
}

function endingOf(result: PostResult, at: Date): Ending {
  const durationMs = Math.round(result.durationMs);
  if (result.kind === 'failed') return failed(result.reason, { at, durationMs });
  const { status: code, retryAfterMs, body: answer } = result;
  const attempt = { at, durationMs, answer };
  if (code >= 200 && code < 300) return { kind: 'acknowledged', code, ...attempt };
  return { kind: 'failed', code, reason: null, retryAfterMs, unwanted: code === GONE, ...attempt };
}

const failed = (reason: string, attempt: { readonly at: Date; readonly durationMs: number }): Ending => ({
  kind: 'failed',
  code: null,
  reason,
  retryAfterMs: null,
  unwanted: false,
  answer: null,
  ...attempt,
});
