import { timeOfId } from '../../platform/lib/ids.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';

/** Carriers keep a message 24 to 72 hours when nothing is said; we say 48 hours, so that trying again has an end. */
const DEFAULT_VALIDITY_MS = 48 * HOUR_MS;

/** Receipts come late (protocol sheet smpp, section 11), but whoever names an end wants to hear of it soon. */
const DEFAULT_GRACE_MS = 24 * HOUR_MS;
const NAMED_GRACE_MS = MINUTE_MS;

/** How long after it was accepted a message of the usual validity is given up. */
export const GIVE_UP_AFTER_MS = DEFAULT_VALIDITY_MS + DEFAULT_GRACE_MS;

type Timed = { readonly id: string; readonly validUntil: Date | null; readonly scheduledAt: Date | null };

const after = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

/** After this instant no carrier may deliver the message any more. */
export const validUntilOf = ({ id, validUntil, scheduledAt }: Timed): Date =>
  validUntil ?? after(scheduledAt ?? timeOfId(id), DEFAULT_VALIDITY_MS);

/** When to give a message up that has no end by then; null for the usual validity, which needs no note of its own. */
export function deadlineOf({ validUntil, scheduledAt }: Timed): Date | null {
  if (validUntil !== null) return after(validUntil, NAMED_GRACE_MS);
  return scheduledAt === null ? null : after(scheduledAt, GIVE_UP_AFTER_MS);
}
