import type { Ending, LaneEvent, Target } from './lane.ts';
import { bodyOf } from './payload.ts';
import type { Poster, PostResult } from './post.ts';
import { signedHeaders } from './sign.ts';

const GONE = 410;

/** Tries once to deliver one event, and tells what came of it. Never rejects. */
export async function sendEvent({ post }: Poster, event: LaneEvent, target: Target): Promise<Ending> {
  const { id, facts } = event;
  const body = facts && bodyOf(target.form, event, facts);
  if (body === null) return { kind: 'left out' };
  if (target.secrets.length === 0) return failed('the gateway cannot open its secret: rotate it', 0);
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = signedHeaders({ id, timestamp, body, secrets: target.secrets });
  return endingOf(await post({ url: target.url, headers, body }));
}

function endingOf(result: PostResult): Ending {
  const durationMs = Math.round(result.durationMs);
  if (result.kind === 'failed') return failed(result.reason, durationMs);
  const { status: code, retryAfterMs } = result;
  if (code >= 200 && code < 300) return { kind: 'acknowledged', code, durationMs };
  return { kind: 'failed', code, reason: null, durationMs, retryAfterMs, unwanted: code === GONE };
}

const failed = (reason: string, durationMs: number): Ending => ({
  ...{ kind: 'failed', code: null, reason, durationMs, retryAfterMs: null, unwanted: false },
});
