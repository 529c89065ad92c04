import { ApiError } from '../errors.ts';
import { followConnection, isOutageStatus, isReachable, saySlow, sayWaiting, untilBack } from './monitor.ts';

const SAFE = ['GET', 'HEAD'];
/** Time without a response after which a read is aborted and repeated. */
const READ_TIMEOUT_MS = 60_000;
/**
 * Time after which a change that could not be sent, or got no response, is reported as failed: the user no longer
 * expects it.
 */
const HOLD_MS = 10 * 60_000;
const MAX_REPEATS = 20;

/**
 * Like `fetch`, across interruptions:
 * - A read that fails is the caller's to repeat.
 * - A change waits while the server is known to be away, and is sent when it is back.
 * - A POST with an Idempotency-Key whose response was lost is sent again with the same key, so that it takes effect once.
 * - Other changes are sent once. If the response is lost, they may or may not have taken effect (`unconfirmed`).
 *
 * Rejects with an ApiError of status 0 if there was no response.
 */
export function send(request: Request): Promise<Response> {
  if (SAFE.includes(request.method)) return saySlow(read(request));
  return sayWaiting(request.headers.has('idempotency-key') ? changeWithKey(request) : changeOnce(request));
}

async function read(request: Request): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), READ_TIMEOUT_MS);
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, timeout.signal]) });
    if (isOutageStatus(response.status)) void untilBack();
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    void untilBack();
    throw noAnswer('unreachable', cause);
  } finally {
    clearTimeout(timer);
  }
}

async function changeOnce(request: Request): Promise<Response> {
  await untilSendable(Date.now() + HOLD_MS);
  try {
    const response = await fetch(request);
    if (isOutageStatus(response.status)) void untilBack();
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    void untilBack();
    throw noAnswer('unconfirmed', cause);
  }
}

async function changeWithKey(request: Request): Promise<Response> {
  const until = Date.now() + HOLD_MS;
  await untilSendable(until);
  for (let turn = 0; ; turn += 1) {
    const answer = await tryOnce(request.clone());
    const mayRepeat = turn < MAX_REPEATS && Date.now() < until;
    if (answer instanceof Response && !needsRepeat(answer)) return answer;
    const wasAway = await atMost(untilBack(), until);
    // The first loss of a connection is worth a retry although the server responds to other requests.
    const isWorthIt = wasAway || (answer instanceof Response ? isInProgress(answer) : turn === 0 || answer.isOver);
    if (mayRepeat && isWorthIt) continue;
    if (answer instanceof Response) return answer;
    throw noAnswer('unconfirmed', answer.cause);
  }
}

const needsRepeat = (answer: Response): boolean => isOutageStatus(answer.status) || isInProgress(answer);

/** The server still works on the first request with this key: 409 with a time to wait. */
const isInProgress = ({ status, headers }: Response): boolean => status === 409 && headers.has('retry-after');

/** `isOver`: it was given up, because an outage during which it had no response has ended. */
type Lost = { readonly cause: unknown; readonly isOver: boolean };

/** Sends it once. It is also lost when it had no response before an outage that is over. */
async function tryOnce(request: Request): Promise<Response | Lost> {
  const giveUp = new AbortController();
  let wasAway = !isReachable();
  const stop = followConnection(() => {
    if (wasAway && isReachable()) giveUp.abort();
    wasAway = !isReachable();
  });
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, giveUp.signal]) });
    if (isInProgress(response)) await later(Number(response.headers.get('retry-after')) * 1000);
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    return { cause, isOver: giveUp.signal.aborted };
  } finally {
    stop();
  }
}

/** Waits while the server is known to be away. Nothing has been sent, so a failure is certain. */
async function untilSendable(until: number): Promise<void> {
  if (!isReachable()) await atMost(untilBack(), until);
  if (!isReachable()) throw noAnswer('notSent', undefined);
}

const later = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

async function atMost(work: Promise<boolean>, until: number): Promise<boolean> {
  return Promise.race([work, later(Math.max(0, until - Date.now())).then(() => false)]);
}

type NoAnswer = 'unreachable' | 'unconfirmed' | 'notSent';

const noAnswer = (code: NoAnswer, cause: unknown): ApiError => new ApiError({ status: 0, message: '', code, cause });
