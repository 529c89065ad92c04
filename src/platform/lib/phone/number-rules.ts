/** Checks of the length of a number: strict ones reject lengths that its country does not have. */
export const NUMBER_CHECKS = ['strict', 'lenient'] as const;
export type NumberChecks = (typeof NUMBER_CHECKS)[number];

/** Rules for reading the phone numbers that an account uses. */
export type NumberRules = {
  /** The country (ISO 3166-1 alpha-2) of numbers without a country code; null: they are rejected. */
  readonly defaultCountry: string | null;
  readonly numberChecks: NumberChecks;
};

/** Picks the rules from a row of an account. */
export const numberRulesOf = ({ defaultCountry, numberChecks }: NumberRules): NumberRules => ({
  defaultCountry,
  numberChecks,
});

/** The rules of an account without its own. */
export const DEFAULT_NUMBER_RULES: NumberRules = { defaultCountry: null, numberChecks: 'strict' };

/** Errors of a phone number. Clients see these texts after the name of its field. */
export const NUMBER_FAULTS = {
  not_a_number: 'is not a valid phone number: write it with + and the country code',
  no_country_code: 'has no country code: write it with + and the country code',
  unknown_country_code: 'begins with a country code that does not exist',
  impossible_length: 'is too short or too long for its country',
} as const;
export type NumberFault = keyof typeof NUMBER_FAULTS;
