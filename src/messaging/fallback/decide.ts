import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { EXPIRED_BY_US } from '../messages/sql.ts';
import { isFinal, nameOfStatus, STATUS } from '../states.ts';
import type { Hop } from '../messages/fallback/hop.ts';
import { triggersFallback } from '../messages/fallback/rule.ts';
import type { FallbackMessage } from '../messages/fallback/sql.ts';

/** A message whose fallback is due, the hop that may follow it, and the hops after that. */
export type DueMessage = { readonly message: FallbackMessage; readonly hop: Hop; readonly laterHops: readonly Hop[] };

/** What is done about a message whose fallback is due. */
export type Verdict =
  /** No message follows it. */
  | { readonly kind: 'over' }
  /** The next message is made. `reason`: the name of the final status, or TIME. */
  | { readonly kind: 'next'; readonly reason: string }
  /** The next message would be made, but must not be. */
  | { readonly kind: 'refuse'; readonly reason: string }
  /** The network is asked to revoke it, and no message follows unless it does. */
  | { readonly kind: 'revoke' }
  /** It still waits in the queue and is withdrawn from it. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** How long to wait for a lost worker's answer, a receipt or a person to resolve an unknown outcome. */
const UNKNOWN_WAIT_MS = 5 * MINUTE_MS;

/**
 * Decides about the fallback of a single send (contract 3, promises 3). A final state makes a fallback due at once, so
 * a due message without one has used up its time. Pure.
 */
export function decideFallback({ message, hop }: DueMessage, now: Date): Verdict {
  const { status, submitted, missed } = message;
  if (status !== null && isFinal(status)) return afterFinalState(message, hop, now);
  if (status === STATUS.UNKNOWN) return { kind: 'wait', waitMs: UNKNOWN_WAIT_MS };
  if (!submitted) return missed ? { kind: 'wait', waitMs: hop.afterSeconds * SECOND_MS } : { kind: 'withdraw' };
  if (message.channel === 'RCS' && !message.simulation) return { kind: 'revoke' };
  return next(message, 'TIME', now);
}

/**
 * No message follows one that our own timer expired: it had the time of its channel and its validity, and somebody may
 * have received it. The same holds for a message that was sent again after an unknown outcome.
 */
function afterFinalState(message: FallbackMessage, { onStatus }: Hop, now: Date): Verdict {
  const { status, errorCode, doubtful } = message;
  if (doubtful || errorCode === EXPIRED_BY_US || status === null) return { kind: 'over' };
  return triggersFallback({ status, errorCode }, onStatus)
    ? next(message, nameOfStatus(status), now)
    : { kind: 'over' };
}

function next({ suspended, validUntil }: FallbackMessage, reason: string, now: Date): Verdict {
  if (suspended) return { kind: 'refuse', reason: 'the account is suspended' };
  if (validUntil !== null && validUntil <= now) return { kind: 'refuse', reason: 'its validity has ended' };
  return { kind: 'next', reason };
}
