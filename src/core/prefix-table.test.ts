import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { prefixTable } from './phone.ts';

const row = (group: string, prefix: string, value: string) => ({ group, prefix, value });

describe('a prefix table', () => {
  const table = prefixTable([
    row('SMS', '', 'world'),
    row('SMS', '39', 'italy'),
    row('SMS', '3933', 'mobile'),
    row('RCS', '39', 'rcs'),
  ]);

  test('finds the longest matching prefix', () => {
    expect(table.find('SMS', '+393331234567')).toBe('mobile');
    expect(table.find('SMS', '+390612345678')).toBe('italy');
    expect(table.find('SMS', '+447700900123')).toBe('world');
  });

  test('keeps the groups apart', () => {
    expect(table.find('RCS', '+393331234567')).toBe('rcs');
    expect(table.find('RCS', '+447700900123')).toBeUndefined();
    expect(table.find('WHATSAPP', '+393331234567')).toBeUndefined();
  });

  test('matches a prefix as long as the number, and none that is longer', () => {
    const exact = prefixTable([row('SMS', '391', 'one'), row('SMS', '3912', 'longer')]);
    expect(exact.find('SMS', '+391')).toBe('one');
    expect(exact.find('SMS', '+39')).toBeUndefined();
  });

  test('of two rows with one prefix the first counts', () => {
    expect(prefixTable([row('SMS', '39', 'first'), row('SMS', '39', 'second')]).find('SMS', '+391')).toBe('first');
  });

  test('without rows finds nothing', () => {
    expect(prefixTable([]).find('SMS', '+39')).toBeUndefined();
  });
});

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom('1', '2', '3'), maxLength });

propertyTest.prop([fc.uniqueArray(digits(6)), digits(9)])(
  'finds what a search through all rows finds',
  (prefixes, number) => {
    const table = prefixTable(prefixes.map((prefix) => row('SMS', prefix, prefix)));
    const fitting = prefixes.filter((prefix) => number.startsWith(prefix)).toSorted((a, b) => b.length - a.length);
    expect(table.find('SMS', `+${number}`)).toBe(fitting[0]);
  },
);
