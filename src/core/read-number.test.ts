import { fc, test as propertyTest } from '@fast-check/vitest';
import examples from 'libphonenumber-js/examples.mobile.json' with { type: 'json' };
import { getCountries, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { describe, expect, test } from 'vitest';
import { type NumberRules, personOf, readNumber } from './phone.ts';

const rules = (defaultCountry: string | null = null, numberChecks: NumberRules['numberChecks'] = 'strict') => ({
  defaultCountry,
  numberChecks,
});
/** Returns the number in E.164, or the error. */
function read(text: string, by = rules()): string {
  const found = readNumber(text, by);
  return 'fault' in found ? found.fault : found.e164;
}

test.each([
  ['+393331234567', '+393331234567'],
  ['00393331234567', '+393331234567'],
  ['+39 333 123 4567', '+393331234567'],
  ['0039 (333) 123-4567', '+393331234567'],
  [' +39.333.123.4567 ', '+393331234567'],
  ['+390612345678', '+390612345678'],
  ['+44 (0)7700 900123', '+447700900123'],
  ['+4407700900123', '+447700900123'],
  ['+490301234567', '+49301234567'],
  ['+80012345678', '+80012345678'],
  ['\u202a+393331234567\u202c', '+393331234567'],
  ['\u2066+39 333\u2060 123 4567\ufe0d\u2069\u200e', '+393331234567'],
  ['＋３９　３３３－１２３４５６７', '+393331234567'],
  ['+٣٩ ٣٣٣ ١٢٣٤٥٦٧', '+393331234567'],
  ['(+39) 333 1234567', '+393331234567'],
  ['(0039)3331234567', '+393331234567'],
  ['="+393331234567"', '+393331234567'],
  ["'+393331234567", '+393331234567'],
  ['+881612345678', '+881612345678'],
])('the international number %j is %s, whatever the default country', (text, e164) => {
  for (const country of [null, 'IT', 'US']) expect(read(text, rules(country))).toBe(e164);
});

test.each([
  ['333.123.4567', 'IT', '+393331234567'],
  ['393331234567', 'IT', '+393331234567'],
  ['5215512345678', 'MX', '+5215512345678'],
  ['06 1234567', 'IT', '+39061234567'],
  ['(202) 555-0123', 'US', '+12025550123'],
  ['4155551234', 'US', '+14155551234'],
  ['07700 900123', 'GB', '+447700900123'],
])('%j is a national number of %s: %s', (text, country, e164) => {
  expect(read(text, rules(country))).toBe(e164);
});

// The findings of a conformance test: as international numbers, these would have reached France, Switzerland and
// Brazil.
test.each(['3331234567', '4155551234', '5551234567', '393331234567'])(
  'without a default country, %s is refused and not sent to another one',
  (text) => {
    expect(read(text)).toBe('no_country_code');
    expect(read(text, rules(null, 'lenient'))).toBe('no_country_code');
  },
);

test('digits that are no number of the default country, but would be one of another country, are refused', () => {
  expect(read('447911123456', rules('IT'))).toBe('no_country_code');
  expect(read('447911123456', rules('US'))).toBe('no_country_code');
});

test.each([
  ['', 'not_a_number'],
  ['abc', 'not_a_number'],
  ['call +393331234567', 'not_a_number'],
  ['+393331234567 ext. 5', 'not_a_number'],
  ['+'.repeat(300), 'not_a_number'],
  [`+39${' '.repeat(60)}3331234567`, 'not_a_number'],
  ['12', 'no_country_code'],
  ['+999123456789', 'unknown_country_code'],
  ['+2101234567', 'unknown_country_code'],
  ['+39 12', 'not_a_number'],
  ['+15550001', 'impossible_length'],
  ['+3331234567', 'impossible_length'],
  ['+1234567890123456', 'not_a_number'],
  ['+0351912345678', 'not_a_number'],
])('%j is refused: %s', (text, fault) => {
  expect(read(text)).toBe(fault);
});

describe('lenient checks', () => {
  test('take lengths that the country does not have', () => {
    expect(read('+15550001', rules(null, 'lenient'))).toBe('+15550001');
    expect(read('001 555 0001', rules(null, 'lenient'))).toBe('+15550001');
    expect(read('555 0001', rules('US', 'lenient'))).toBe('+15550001');
  });

  test('take nothing that E.164 cannot hold', () => {
    for (const text of ['+1234567890123456', '+123456', '+999123456789', 'abc'])
      expect(read(text, rules(null, 'lenient'))).toBe(read(text));
  });
});

test('a mobile number of every country is read in all its forms', () => {
  for (const country of getCountries()) {
    const example = getExampleNumber(country, examples);
    if (!example) continue;
    const { number } = example;
    expect(read(number)).toBe(number);
    expect(read(number.replace('+', '00'))).toBe(number);
    expect(read(example.formatInternational())).toBe(number);
    expect(read(example.formatNational(), rules(country)), country).toBe(number);
  }
});

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 18 });

propertyTest.prop([digits, fc.constantFrom('+', '00')])(
  'what is taken without asking libphonenumber is possible there, and is the same number',
  (rest, prefix) => {
    const found = readNumber(`${prefix}${rest}`, rules());
    // Former forms of numbers are taken although the plan of today does not have them.
    if ('fault' in found || found.parsed || personOf(found.e164) !== found.e164) return;
    // A number of before a change of its country's plan stays as it is, and belongs to a person with a number of today.
    const person = personOf(found.e164);
    const parsed = parsePhoneNumberFromString(person);
    expect([parsed?.isPossible(), parsed?.number]).toEqual([true, person]);
  },
);

propertyTest.prop([fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), digits), fc.constantFrom(null, 'IT', 'US')])(
  'what is taken has the form of E.164, and reads the same again',
  (text, country) => {
    for (const checks of ['strict', 'lenient'] as const) {
      const found = readNumber(text, rules(country, checks));
      if ('fault' in found) continue;
      expect(found.e164).toMatch(/^\+[1-9]\d{6,14}$/);
      expect(read(found.e164, rules(country, checks))).toBe(found.e164);
    }
  },
);

/** Punctuation at some places of a number of a country. */
const punctuated = fc
  .tuple(
    fc.constantFrom(...getCountries()).filter((of) => getExampleNumber(of, examples) !== undefined),
    fc.array(fc.tuple(fc.nat({ max: 14 }), fc.constantFrom(' ', '.', '-', '(', ')', ' (', ') ')), { maxLength: 5 }),
    digits,
  )
  .map(([of, marks, rest]) => {
    const known: string = getExampleNumber(of, examples)?.number.slice(1) ?? '';
    const number = `${known.slice(0, Math.max(3, known.length - rest.length))}${rest}`;
    return marks.reduce((all, [at, mark]) => `${all.slice(0, at)}${mark}${all.slice(at)}`, number);
  });

propertyTest.prop([punctuated, fc.constantFrom('+', '+ ', '00')], { numRuns: 500 })(
  'a number with punctuation that is read without asking libphonenumber is the same number there',
  (text, plus) => {
    const found = readNumber(`${plus}${text}`, rules());
    if ('fault' in found || found.parsed) return;
    const parsed = parsePhoneNumberFromString(`${plus}${text}`.replace(/^00\s*/, '+'), { extract: false });
    expect([parsed?.number, parsed?.isPossible(), parsed?.ext]).toEqual([found.e164, true, undefined]);
  },
);
