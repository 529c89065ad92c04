import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns } from '../../../platform/db/select.ts';
import type { NumberChecks, NumberRules } from '../../../platform/lib/phone/number-rules.ts';

const NUMBER_RULES = columns({
  defaultCountry: as<string | null>('default_country'),
  numberChecks: as<NumberChecks>('number_checks'),
});

/** Finds how the phone numbers that an account uses are read. */
export const findNumberRules = (db: Db, { accountId }: { accountId: number }): Promise<NumberRules | undefined> =>
  maybeOne(db, sql`SELECT ${NUMBER_RULES} FROM account WHERE id = ${accountId}`);

/** Sets how the phone numbers of an account are read, effective with its next request. Returns 0 if it is the same. */
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
