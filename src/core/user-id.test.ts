import { expect, test } from 'vitest';
import { callingCodeOfUserId, countryOfUserId, isUserId, MAX_USER_ID_LENGTH } from './phone.ts';

test.each([
  ['US.13491208655302741918', true],
  ['US.ENT.11815799212886844830', true],
  [`US.ENT.${'a'.repeat(128)}`, true],
  [`US.${'1'.repeat(129)}`, false],
  ['us.1349', false],
  ['US.', false],
  ['US.13 49', false],
  ['+393331234567', false],
  ['393331234567', false],
])('whether %s is a user id is %s', (text, expected) => expect(isUserId(text)).toBe(expected));

test('the longest user id has the stated length', () =>
  expect(`US.ENT.${'a'.repeat(128)}`).toHaveLength(MAX_USER_ID_LENGTH));

test('a user id names its country', () => {
  expect(['PT.9A', 'US.ENT.1', 'ZZ.1', '+351912345678'].map(countryOfUserId)).toEqual(['PT', 'US', null, null]);
  expect(['PT.9A', 'US.ENT.1', 'ZZ.1'].map(callingCodeOfUserId)).toEqual(['+351', '+1', null]);
});
