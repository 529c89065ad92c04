import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns } from '../../../platform/db/select.ts';
import type { NumberChecks, NumberRules } from '../../../platform/lib/phone/number-rules.ts';

const NUMBER_RULES = columns({
  defaultCountry: as<string | null>('default_country'),
  numberChecks: as<NumberChecks>('number_checks'),
});

/** Finds the phone-number rules of an account. */
export const findNumberRules = (db: Db, { accountId }: { accountId: number }): Promise<NumberRules | undefined> =>
  maybeOne(db, sql`SELECT ${NUMBER_RULES} FROM account WHERE id = ${accountId}`);

/** Sets the phone-number rules of an account, effective with its next request. Returns 0 if they are the same. */
export const updateNumberRules = (
  db: Db,
  { accountId, defaultCountry, numberChecks }: { accountId: number } & NumberRules,
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET default_country = ${defaultCountry}, number_checks = ${numberChecks}
      WHERE id = ${accountId}
        AND (default_country, number_checks) IS DISTINCT FROM (${defaultCountry}, ${numberChecks})`,
  );
