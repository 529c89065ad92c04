import { MINUTE_MS, SECOND_MS } from '../../../platform/lib/time.ts';
import { nameOfStatus, STATUS } from '../../states.ts';

/** Default seconds until the next channel is tried, by the message's channel, from when its carrier has taken it. */
export const DEFAULT_AFTER_SECONDS: Readonly<Record<string, number>> = { WHATSAPP: 3600, RCS: 300 };

/** The error code of messages that ended DELETED because their network revoked them in favour of another channel. */
export const REVOKED = 'REVOKED';
/**
 * The error code of messages that ended DELETED because no carrier had taken them within `fallback.maxWait`, and the
 * reason why the next channel was tried.
 */
export const NOT_TRIED = 'NOT_TRIED';

/** Wait for a lost worker's outcome, a receipt or a person to resolve an unknown outcome. */
export const UNKNOWN_WAIT_MS = 5 * MINUTE_MS;

/** The final state of a message. */
export type Ended = { readonly status: number; readonly errorCode: string | null };

/**
 * True if another channel is tried after this final state: not after a delivery or an unknown outcome, and not when a
 * user cancelled the message.
 *
 * @param onStatus names of the only failures that trigger the fallback; all of them when omitted
 */
export function triggersFallback({ status, errorCode }: Ended, onStatus?: readonly string[] | null): boolean {
  if (status === STATUS.UNKNOWN || status === STATUS.DELIVERED) return false;
  if (status === STATUS.DELETED) return errorCode === REVOKED || errorCode === NOT_TRIED;
  return onStatus?.includes(nameOfStatus(status)) ?? true;
}

/** A message with another channel behind it, as far as its clock is concerned. */
export type Timed = {
  /** Start of its wait for a carrier: its creation, or its scheduled time. */
  readonly from: Date;
  /** Time at which a carrier took it; null while none has it. */
  readonly submittedAt: Date | null;
};

/** The times of a channel: `afterSeconds` with its carrier, and `maxWaitSeconds` at most until a carrier takes it. */
export type Times = { readonly afterSeconds: number; readonly maxWaitSeconds: number };

/**
 * Returns how long the message still has on its channel, in ms; 0 or less: its time is over.
 *
 * The clock starts when a carrier takes the message. It stops while the message waits in the queue, is throttled or
 * belongs to something that is paused; only `maxWaitSeconds` limits that wait. A waiting message could be taken at any
 * moment, so the next check is in `afterSeconds` at the earliest.
 */
export function restMs({ from, submittedAt }: Timed, { afterSeconds, maxWaitSeconds }: Times, now: Date): number {
  const afterMs = afterSeconds * SECOND_MS;
  if (submittedAt !== null) return submittedAt.getTime() + afterMs - now.getTime();
  return Math.min(afterMs, from.getTime() + maxWaitSeconds * SECOND_MS - now.getTime());
}
