import { SECOND_MS } from '../../platform/lib/time.ts';
import { EXPIRED_BY_US } from '../messages/sql.ts';
import { isFinal, nameOfStatus, STATUS } from '../states.ts';
import type { Hop } from '../messages/fallback/hop.ts';
import { NOT_TRIED, restMs, type Timed, triggersFallback, UNKNOWN_WAIT_MS } from '../messages/fallback/rule.ts';
import type { FallbackMessage } from '../messages/fallback/sql.ts';
import { validUntilOf } from '../messages/validity.ts';
import { timeOfId } from '../../platform/lib/ids.ts';

/** A message whose fallback is due, the hop that may follow it, and the hops after that. */
export type DueMessage = { readonly message: FallbackMessage; readonly hop: Hop; readonly laterHops: readonly Hop[] };

/** Decision about a message whose fallback is due. */
export type Verdict =
  /** No message follows it. */
  | { readonly kind: 'over' }
  /** The next message is made. `reason`: the name of the final status, TIME, or NOT_TRIED. */
  | { readonly kind: 'next'; readonly reason: string }
  /** The next message is due, but must not be sent. */
  | { readonly kind: 'refuse'; readonly reason: string }
  /** The network is asked to revoke it, and no message follows unless it does. */
  | { readonly kind: 'revoke' }
  /** No carrier has taken it within its maximum wait: it is withdrawn from the queue. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** The shortest wait until a message is checked again. */
const MIN_WAIT_MS = 1000;

/**
 * Decides about the fallback of a single send. A final state makes a fallback due immediately. A due message without
 * one may still wait in the queue, or may have been taken later than it was made: then its time goes on (`restMs`).
 * Pure.
 */
export function decideFallback({ message, hop }: DueMessage, now: Date): Verdict {
  const { status, submittedAt, missed } = message;
  if (status !== null && isFinal(status)) return afterFinalState(message, hop, now);
  if (status === STATUS.UNKNOWN) return { kind: 'wait', waitMs: UNKNOWN_WAIT_MS };
  if (missed) return { kind: 'wait', waitMs: hop.afterSeconds * SECOND_MS };
  const waitMs = restMs(timedOf(message), timesOf(message, hop), now);
  if (waitMs > 0) return { kind: 'wait', waitMs: Math.max(waitMs, MIN_WAIT_MS) };
  if (submittedAt === null) return { kind: 'withdraw' };
  if (message.channel === 'RCS' && !message.simulation) return { kind: 'revoke' };
  return next(message, 'TIME', now);
}

/**
 * No message follows one that our own timer expired: it had the time of its channel and its validity, and the recipient
 * may have it. The same holds for a message that was sent again after an unknown outcome.
 */
function afterFinalState(message: FallbackMessage, { onStatus }: Hop, now: Date): Verdict {
  const { status, errorCode, doubtful } = message;
  if (doubtful || errorCode === EXPIRED_BY_US || status === null) return { kind: 'over' };
  return triggersFallback({ status, errorCode }, onStatus)
    ? next(message, errorCode === NOT_TRIED ? NOT_TRIED : nameOfStatus(status), now)
    : { kind: 'over' };
}

const timedOf = ({ id, scheduledAt, submittedAt }: FallbackMessage): Timed => ({
  from: scheduledAt ?? timeOfId(id),
  submittedAt,
});

function timesOf(message: FallbackMessage, { afterSeconds, maxWaitSeconds }: Hop) {
  const validMs = validUntilOf(message).getTime() - timedOf(message).from.getTime();
  return { afterSeconds, maxWaitSeconds: maxWaitSeconds ?? validMs / SECOND_MS };
}

function next({ suspended, validUntil }: FallbackMessage, reason: string, now: Date): Verdict {
  if (suspended) return { kind: 'refuse', reason: 'the account is suspended' };
  if (validUntil !== null && validUntil <= now) return { kind: 'refuse', reason: 'its validity has ended' };
  return { kind: 'next', reason };
}
