import { nameOfStatus, STATUS } from '../../states.ts';

/** How many seconds a message has by default before the next channel is tried, by its channel (contract 3). */
export const DEFAULT_AFTER_SECONDS: Readonly<Record<string, number>> = { WHATSAPP: 3600, RCS: 300 };

/** The error code of messages that ended DELETED because their network revoked them in favour of another channel. */
export const REVOKED = 'REVOKED';
/** The error code of messages that ended DELETED because they still waited in the queue when their time was over. */
export const TIMED_OUT = 'TIMED_OUT';

/** The final state of a message. */
export type Ended = { readonly status: number; readonly errorCode: string | null };

/**
 * Whether another channel is tried after this final state (promises 3): not after a delivery or an unknown outcome, and
 * not when somebody cancelled the message.
 *
 * @param onStatus names of the only failures that trigger the fallback; all of them when it is left out
 */
export function triggersFallback({ status, errorCode }: Ended, onStatus?: readonly string[] | null): boolean {
  if (status === STATUS.UNKNOWN || status === STATUS.DELIVERED) return false;
  if (status === STATUS.DELETED) return errorCode === REVOKED || errorCode === TIMED_OUT;
  return onStatus?.includes(nameOfStatus(status)) ?? true;
}
