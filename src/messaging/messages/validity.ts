import { timeOfId } from '../../platform/lib/ids.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';

/**
 * Carriers keep a message for 24 to 72 hours by default; we request 48 hours, so that repeated attempts have an end.
 */
export const DEFAULT_VALIDITY_MS = 48 * HOUR_MS;

/** Receipts come late, but a client that sets a validity wants the result soon. */
const DEFAULT_GRACE_MS = 24 * HOUR_MS;
const CHOSEN_GRACE_MS = MINUTE_MS;

/** Time from acceptance until a message of the default validity is given up. */
export const GIVE_UP_AFTER_MS = DEFAULT_VALIDITY_MS + DEFAULT_GRACE_MS;

type Timed = { readonly id: string; readonly validUntil: Date | null; readonly scheduledAt: Date | null };

const after = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

/** Returns the instant after which no carrier may deliver the message any more. */
export const validUntilOf = ({ id, validUntil, scheduledAt }: Timed): Date =>
  validUntil ?? after(scheduledAt ?? timeOfId(id), DEFAULT_VALIDITY_MS);

/**
 * The instant at which a message without a final state is given up. Null for the default validity, whose messages need
 * no separate deadline.
 */
export function deadlineOf({ validUntil, scheduledAt }: Timed): Date | null {
  if (validUntil !== null) return after(validUntil, CHOSEN_GRACE_MS);
  return scheduledAt === null ? null : after(scheduledAt, GIVE_UP_AFTER_MS);
}
