import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { type AttentionKind, kindNamed } from '../attention/kinds.ts';
import { findAlert, insertRule, moveToAcknowledged } from './sql.ts';

/**
 * Acknowledges an alert, which stops its reminders. Call it in a transaction. Errors: 404, 409 when it was acknowledged
 * or resolved before.
 */
export async function acknowledgeAlert(
  tx: Db,
  { id, by }: { readonly id: number; readonly by: string },
): Promise<void> {
  const moved = await moveToAcknowledged(tx, { id, by });
  if (!moved) {
    const found = await findAlert(tx, { id });
    if (!found) throw new AppError('not_found', { message: 'There is no such alert' });
    throw new AppError('conflict', { message: `The alert is ${found.state} already` });
  }
  const subject = moved.subject === null ? moved.kind : `${moved.kind} ${moved.subject}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'alert.acknowledge',
    subject: `alert:${subject}`,
    detail: { id },
  });
}

type NewRule = {
  readonly kind: AttentionKind;
  readonly enabled: boolean;
  readonly forSeconds: number;
  /** Null for kinds without a threshold. */
  readonly threshold: number | null;
  readonly by: string;
};

/**
 * Sets the rule by which a kind of condition is an alert. Call it in a transaction. Errors: 400 for a threshold that
 * does not fit.
 */
export async function setRule(tx: Db, { by, ...rule }: NewRule): Promise<void> {
  const has = kindNamed(rule.kind).threshold !== null;
  if (has !== (rule.threshold !== null))
    throw invalidFields([{ field: 'threshold', message: has ? 'must be a number' : 'must be null for this kind' }]);
  await insertRule(tx, rule);
  const { kind, ...detail } = rule;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'alert-rule.set',
    subject: `alert-rule:${kind}`,
    detail,
  });
}
