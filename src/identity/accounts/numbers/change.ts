import { type Author, recordAudit } from '../../audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { isPhoneCountry } from '../../../platform/lib/phone/phone-details.ts';
import type { NumberChecks, NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import { findNumberRules, updateNumberRules } from './sql.ts';

/** New rules; omitted fields are unchanged. */
export type NumberRulesPatch = {
  /** Two letters of ISO 3166-1 in any case; null: numbers without a country code are rejected. */
  readonly defaultCountry?: string | null | undefined;
  readonly numberChecks?: NumberChecks | undefined;
};

/**
 * Changes how the phone numbers of the author's account are read, and returns the rules. Call it in a transaction.
 * Errors: 400 for a country that does not exist, 404.
 */
export async function changeNumberRules(tx: Db, author: Author, patch: NumberRulesPatch): Promise<NumberRules> {
  const { accountId } = author;
  const current = await findNumberRules(tx, { accountId });
  if (!current) throw new AppError('not_found');
  const defaultCountry =
    patch.defaultCountry === undefined ? current.defaultCountry : (patch.defaultCountry?.toUpperCase() ?? null);
  if (defaultCountry !== null && !isPhoneCountry(defaultCountry))
    throw invalidFields([{ field: 'defaultCountry', message: 'must be two letters of ISO 3166-1, for example IT' }]);
  const rules = { defaultCountry, numberChecks: patch.numberChecks ?? current.numberChecks };
  if ((await updateNumberRules(tx, { accountId, ...rules })) === 1)
    await recordAudit(tx, author, { action: 'account.numbers', subject: `account:${accountId}`, detail: rules });
  return rules;
}
