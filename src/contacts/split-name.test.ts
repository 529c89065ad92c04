import { expect, test } from 'vitest';
import { splitName } from './import-cleaning.ts';

test.each([
  ['Maria Rossi', 'firstLast', 'Maria', 'Rossi', null],
  ['  Jan   van der Berg ', 'firstLast', 'Jan', 'van der Berg', null],
  ['De Luca Maria', 'lastFirst', 'Maria', 'De Luca', null],
  ['Rossi, Maria Grazia', 'firstLast', 'Maria Grazia', 'Rossi', null],
  ['Rossi, Maria', 'lastFirst', 'Maria', 'Rossi', null],
  ['Cher', 'firstLast', 'Cher', null, null],
  ['Cher', 'lastFirst', 'Cher', null, null],
  ['Dr. Anna Weiß', 'firstLast', 'Anna', 'Weiß', 'Dr. Anna Weiß'],
  ['Dott.ssa Anna Bianchi', 'firstLast', 'Anna', 'Bianchi', 'Dott.ssa Anna Bianchi'],
  ['Don', 'firstLast', 'Don', null, null],
] as const)(
  '"%s" is split by %s into a first and a last name; a title is none, and stays in the whole name',
  (text, order, firstName, lastName, full) => {
    expect(splitName(text, order)).toEqual({ firstName, lastName, full });
  },
);

test('parts of a name that contacts cannot store are cut, and the whole name is kept', () => {
  const { firstName, lastName, full } = splitName(`Anna ${'x'.repeat(150)}`, 'firstLast');
  expect([firstName, lastName?.length, full?.length]).toEqual(['Anna', 100, 155]);
});
