import { nameOfStatus, STATUS } from '../../states.ts';

/** Seconds that a message on a channel has before the next channel is tried, where nothing is said (contract 3). */
export const DEFAULT_AFTER_SECONDS: Readonly<Record<string, number>> = { WHATSAPP: 3600, RCS: 300 };

/** Error codes of messages that were ended (DELETED) for another channel. */
export const REVOKED = 'REVOKED';
export const TIMED_OUT = 'TIMED_OUT';

/** The end of a message that a carrier has or may have. */
export type Ended = { readonly status: number; readonly errorCode: string | null };

/**
 * Whether another channel is tried after this final failure (promises 3): not after an unknown outcome, and not after
 * what somebody has taken back on purpose.
 *
 * @param onStatus names of the only failures that lead on; none given: all
 */
export function triggersFallback({ status, errorCode }: Ended, onStatus?: readonly string[] | null): boolean {
  if (status === STATUS.UNKNOWN || status === STATUS.DELIVERED) return false;
  if (status === STATUS.DELETED) return errorCode === REVOKED || errorCode === TIMED_OUT;
  return onStatus?.includes(nameOfStatus(status)) ?? true;
}
