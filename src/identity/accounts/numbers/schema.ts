import { Type } from 'typebox';
import { NUMBER_CHECKS } from '../../../platform/lib/phone/number-rules.ts';
import { orNull } from '../../../platform/lib/schema.ts';

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

export const NumberRulesIn = Type.Object({
  defaultCountry: Type.Optional(defaultCountry),
  numberChecks: Type.Optional(numberChecks),
});
export const NumberRulesOut = Type.Object({ defaultCountry, numberChecks });
