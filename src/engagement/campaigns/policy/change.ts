import type { Static } from 'typebox';
import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { knownFieldsOf } from '../../../platform/lib/schema.ts';
import { isSender } from '../../../messaging/sending/prepare.ts';
import { PolicyIn } from './schema.ts';
import { findPolicy, insertPolicy, type Policy } from './sql.ts';

/** The policy of an account that has not set one: no quiet hours, any sender. */
export const NO_POLICY: Policy = { quietHours: null, smsSenders: null };

/**
 * Changes the policy for all campaigns of the account; omitted fields are unchanged. Confirmed campaigns keep their
 * sender. Call it in a transaction. Errors: 400 naming invalid senders and hours.
 */
export async function changePolicy(tx: Db, actor: Author, change: Static<typeof PolicyIn>): Promise<Policy> {
  const { accountId } = actor;
  const current = (await findPolicy(tx, { accountId })) ?? NO_POLICY;
  const { quietHours = current.quietHours, smsSenders = current.smsSenders } = knownFieldsOf(PolicyIn, change);
  const faults = [...senderFaults(smsSenders), ...hoursFaults(quietHours)];
  if (faults.length > 0) throw invalidFields(faults);
  const policy = await insertPolicy(tx, { accountId, quietHours, smsSenders: smsSenders && [...new Set(smsSenders)] });
  await recordAudit(tx, actor, { action: 'account.campaigns', subject: `account:${accountId}`, detail: policy });
  return policy;
}

const senderFaults = (senders: readonly string[] | null): FieldError[] =>
  (senders ?? []).flatMap((sender, i) =>
    isSender(sender)
      ? []
      : [{ field: `smsSenders[${i}]`, message: 'must have 1 to 11 letters and digits, or up to 16 digits' }],
  );

/** Returns the fault of quiet hours that begin and end at the same time: that would be the whole day. */
export const hoursFaults = (hours: { readonly from: string; readonly to: string } | null): FieldError[] =>
  hours !== null && hours.from === hours.to
    ? [{ field: 'quietHours.to', message: 'must differ from quietHours.from' }]
    : [];
