import { fc, test as propertyTest } from '@fast-check/vitest';
import { type CountryCode, getCountries, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/examples.mobile.json' with { type: 'json' };
import { expect, test } from 'vitest';
import { readNationalDigits } from './numbering-plans.ts';
import type { NumberRules } from './number-rules.ts';
import { readNumber } from './read-number.ts';

const strict = (defaultCountry: string): NumberRules => ({ defaultCountry, numberChecks: 'strict' });
const ask = (text: string, defaultCountry: CountryCode) =>
  parsePhoneNumberFromString(text, { defaultCountry, extract: false });

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
const country = fc.constantFrom(...getCountries());

/** Numbers near the mobile number that is the example of a country: with other last digits, and other lengths. */
const nearExample = (of: CountryCode) => {
  const national: string = getExampleNumber(of, examples)?.nationalNumber ?? '';
  return fc
    .tuple(fc.nat({ max: national.length }), digits(0, 10))
    .map(([kept, rest]) => `${national.slice(0, kept)}${rest}`.slice(0, Math.max(7, national.length + 1)));
};
/** Such numbers, and any digits, as they are, with a prefix or with the calling code of their country. */
const written = country.chain((of) =>
  fc
    .tuple(
      fc.constantFrom('', '', '0', '1', '8', '00', ask('2015550123', of)?.countryCallingCode ?? ''),
      fc.oneof({ arbitrary: nearExample(of), weight: 4 }, digits(5, 14)),
    )
    .map(([prefix, rest]) => ({ of, text: `${prefix}${rest}` })),
);

propertyTest.prop([written], { numRuns: 500 })(
  'digits that are read without libphonenumber are the same number there, possible and valid',
  ({ of, text }) => {
    const e164 = readNationalDigits(text, of);
    if (e164 === null) return;
    const parsed = ask(text, of);
    expect([parsed?.number, parsed?.isPossible(), parsed?.isValid(), parsed?.ext]).toEqual([
      e164,
      true,
      true,
      undefined,
    ]);
  },
);

/** Punctuation at some places of a number. */
const punctuated = fc
  .tuple(written, fc.array(fc.tuple(fc.nat({ max: 14 }), fc.constantFrom(' ', '.', '-', '(', ')', ' (', ') '))))
  .map(([{ of, text }, marks]) => ({
    of,
    text: marks.reduce((all, [at, mark]) => `${all.slice(0, at)}${mark}${all.slice(at)}`, text),
  }));

propertyTest.prop([punctuated, fc.constantFrom('', '+', '+ ', '00')], { numRuns: 500 })(
  'a number with punctuation that is read without libphonenumber is the same number there',
  ({ of, text }, plus) => {
    const found = readNumber(`${plus}${text}`, strict(of));
    if ('fault' in found || found.parsed) return;
    const parsed = ask(`${plus}${text}`.replace(/^00\s*/, '+'), of);
    expect([parsed?.number, parsed?.isPossible(), parsed?.ext]).toEqual([found.e164, true, undefined]);
  },
);

test('the mobile numbers of nearly all countries need no libphonenumber', () => {
  const asked = getCountries().filter((of) => {
    const example = getExampleNumber(of, examples);
    const forms = example ? [example.nationalNumber, example.formatNational()] : [];
    return forms.some((text) => 'parsed' in readNumber(text, strict(of)));
  });
  // In Argentina mobile numbers have their own prefix; the others share their calling code with a larger country.
  expect(asked).toEqual(['AR', 'AX', 'EH', 'IM', 'SJ', 'VA']);
});

test.each([
  ['a number that the plan does not contain', '07700900123', 'GB'],
  ['a number of another country', '447911123456', 'IT'],
  ['a number of the Vatican in Italy', '0669812345', 'IT'],
  ['a prefix with a rule of its own', '0111512345678', 'AR'],
  ['a number that is dialled abroad', '011393331234567', 'US'],
  ['a country without a plan', '3331234567', 'XX'],
])('%s is left to libphonenumber', (_, text, of) => {
  expect(readNationalDigits(text, of)).toBeNull();
});
