import { Type } from 'typebox';
import { CHANNELS } from '../core/channels.ts';
import { as, columns, type Db, exec, maybeOne, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireAnyScope, requireScope } from '../core/http/auth.ts';
import { isPhoneCountry, NUMBER_CHECKS, type NumberChecks, type NumberRules } from '../core/phone.ts';
import { orNull } from '../core/schema.ts';
import { type Author, recordAudit } from './audit.ts';

export const numberChecks = Type.Enum([...NUMBER_CHECKS], {
  type: 'string',
  description:
    'Check of phone numbers: `strict` rejects lengths that their country does not have, `lenient` accepts any ' +
    'number of 7 to 15 digits with a country code that exists.',
});

const defaultCountry = orNull(
  Type.String({
    maxLength: 2,
    description:
      'The country of numbers without a country code, as two letters of ISO 3166-1. Null: such numbers are rejected.',
  }),
);

const NumberRulesIn = Type.Object({
  defaultCountry: Type.Optional(defaultCountry),
  numberChecks: Type.Optional(numberChecks),
});
const NumberRulesOut = Type.Object({ defaultCountry, numberChecks });

const PATH = '/api/partner-gateway/v1/account/numbers';
const tags = ['Account'];

export function numberRulesRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireAnyScope([...CHANNELS, 'contacts', 'campaigns', 'keys'], 'read'),
    schema: {
      tags,
      operationId: 'getNumberRules',
      summary: 'Get the phone-number rules',
      response: { 200: NumberRulesOut },
    },
    handler: async ({ actor }) => actor.numberRules,
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putNumberRules',
      summary: 'Change the phone-number rules',
      description:
        'In sends, replies, contacts, imports and campaigns, from the next request on; numbers that are stored stay as they ' +
        'are. Omitted fields are unchanged. For admins, and keys with the scope `keys`.',
      body: withExamples(NumberRulesIn, { defaultCountry: 'IT', numberChecks: 'strict' }),
      response: { 200: NumberRulesOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeNumberRules(tx, actor, body)),
  });
}

/** New rules; omitted fields are unchanged. */
type NumberRulesPatch = {
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
  const current = await existing(findNumberRules(tx, { accountId }));
  const defaultCountry =
    patch.defaultCountry === undefined ? current.defaultCountry : (patch.defaultCountry?.toUpperCase() ?? null);
  if (defaultCountry !== null && !isPhoneCountry(defaultCountry))
    throw invalidFields([{ field: 'defaultCountry', message: 'must be two letters of ISO 3166-1, for example IT' }]);
  const rules = { defaultCountry, numberChecks: patch.numberChecks ?? current.numberChecks };
  if ((await updateNumberRules(tx, { accountId, ...rules })) === 1)
    await recordAudit(tx, author, { action: 'account.numbers', subject: `account:${accountId}`, detail: rules });
  return rules;
}

const NUMBER_RULES = columns({
  defaultCountry: as<string | null>('default_country'),
  numberChecks: as<NumberChecks>('number_checks'),
});

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
