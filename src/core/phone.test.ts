import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { describeNumber, personOf, toE164 } from './phone.ts';

const digits = (min: number, max: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max, size: 'max' })
    .map((list) => list.join(''));

describe('toE164', () => {
  test.each([
    ['+351912345678', '+351912345678'],
    ['00351912345678', '+351912345678'],
    ['351912345678', '+351912345678'],
    ['+14155550123', '+14155550123'],
    ['+393331234567', '+393331234567'],
    ['+881612345678', '+881612345678'],
    ['+80012345678', '+80012345678'],
  ])('%s is %s', (text, number) => {
    expect(toE164(text)).toBe(number);
  });

  test.each([
    ['', 'nothing'],
    ['+123456', 'fewer than seven digits'],
    ['+1234567890123456', 'more than fifteen digits'],
    ['+0351912345678', 'a calling code with a zero in front'],
    ['000351912345678', 'three zeros in front'],
    ['+351 912 345 678', 'spaces'],
    ['+351-912345678', 'a hyphen'],
    ['++351912345678', 'two pluses'],
    ['+351912345678\n', 'a line end'],
    ['+٣٥١٩١٢٣٤٥٦٧٨', 'digits of another script'],
    ['+99912345678', 'a calling code that no country has'],
    ['+2101234567', 'a calling code that is not given out'],
    ['tel:+351912345678', 'a URI'],
  ])('%j is refused: %s', (text) => {
    expect(toE164(text)).toBeNull();
  });
});

describe('a person', () => {
  const RULES = { defaultCountry: null, numberChecks: 'strict' } as const;

  test.each([
    ['Mexico', '+5215512345678', '+525512345678'],
    ['Brazil', '+558299448232', '+5582999448232'],
    ['Argentina', '+541123456789', '+5491123456789'],
    ['Benin', '+22997123456', '+2290197123456'],
    ['Ivory Coast, Moov', '+22541234567', '+2250141234567'],
    ['Ivory Coast, MTN', '+22505123456', '+2250505123456'],
    ['Ivory Coast, Orange', '+22507123456', '+2250707123456'],
  ])('in %s is the same under %s and %s, and can be reached by both', (_, former, current) => {
    expect([personOf(former), personOf(current)]).toEqual([current, current]);
    for (const number of [former, current])
      expect(describeNumber(number, RULES)).toMatchObject({ e164: number, isValid: true });
  });

  test.each(['+551133334444', '+5511988887777', '+525512345678', '+22521234567', '+393331234567', 'BR.1', '4400'])(
    '%s has one form',
    (text) => {
      expect(personOf(text)).toBe(text);
    },
  );
});

propertyTest.prop([fc.oneof(fc.string({ unit: 'binary', maxLength: 200, size: 'max' }), digits(0, 20))])(
  'what is taken has the form of E.164, keeps the digits as they were, and reads the same again',
  (text) => {
    const number = toE164(text);
    if (number === null) return;
    expect(number).toMatch(/^\+[1-9]\d{6,14}$/);
    expect(text.replace(/^(\+|00)/, '')).toBe(number.slice(1));
    expect(toE164(number)).toBe(number);
  },
);

propertyTest.prop([digits(6, 14), fc.constantFrom('', '+', '00')])(
  'a number of a known country is taken with a plus, with 00 and with neither alike',
  (rest, prefix) => {
    expect(toE164(`${prefix}39${rest}`)).toBe(rest.length <= 13 ? `+39${rest}` : null);
  },
);
