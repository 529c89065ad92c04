import { EXPIRED_BY_US } from '../messages/sql.ts';
import { isFinal, nameOfStatus, STATUS } from '../states.ts';
import type { Hop } from '../messages/fallback/hop.ts';
import { triggersFallback } from '../messages/fallback/rule.ts';
import type { FallbackMessage } from '../messages/fallback/sql.ts';

/** A message that is looked at, and what may follow it. */
export type DueMessage = { readonly fact: FallbackMessage; readonly hop: Hop; readonly rest: readonly Hop[] };

/** What is done about a message that is due. */
export type Verdict =
  /** Nothing follows it. */
  | { readonly kind: 'over' }
  /** The next message is made: the name of the end, or TIME. */
  | { readonly kind: 'next'; readonly reason: string }
  /** The next message would be made, and must not be. */
  | { readonly kind: 'refuse'; readonly reason: string }
  /** Its network is asked to take it back, and only then does anything follow. */
  | { readonly kind: 'revoke' }
  /** It still waits in the queue, and is taken out of it. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** Until a lost worker's answer, a receipt or a person may have said more. */
const DOUBT_MS = 5 * 60_000;

/**
 * The rule of fallback for single sends (contract 3, promises 3). An end has been told of, so a due message without one
 * has had its time. Pure.
 */
export function decideFallback({ fact, hop }: DueMessage, now: Date): Verdict {
  const { status, submitted, missed } = fact;
  if (status !== null && isFinal(status)) return afterEnd(fact, hop, now);
  if (status === STATUS.UNKNOWN) return { kind: 'wait', waitMs: DOUBT_MS };
  if (!submitted) return missed ? { kind: 'wait', waitMs: hop.afterSeconds * 1000 } : { kind: 'withdraw' };
  if (fact.channel === 'RCS' && !fact.simulation) return { kind: 'revoke' };
  return next(fact, 'TIME', now);
}

/**
 * A message that our own timer expired had the time of its channel and its validity, and may be with somebody; so may one
 * that was sent again after an unknown outcome.
 */
function afterEnd(fact: FallbackMessage, { onStatus }: Hop, now: Date): Verdict {
  const { status, errorCode, doubtful } = fact;
  if (doubtful || errorCode === EXPIRED_BY_US || status === null) return { kind: 'over' };
  return triggersFallback({ status, errorCode }, onStatus) ? next(fact, nameOfStatus(status), now) : { kind: 'over' };
}

function next({ suspended, validUntil }: FallbackMessage, reason: string, now: Date): Verdict {
  if (suspended) return { kind: 'refuse', reason: 'the account is suspended' };
  if (validUntil !== null && validUntil <= now) return { kind: 'refuse', reason: 'its validity is over' };
  return { kind: 'next', reason };
}
