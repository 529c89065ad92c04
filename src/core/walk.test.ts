import { expect, test } from 'vitest';
import { valuesIn } from './schema.ts';

test('every value of a document is visited once', () => {
  const values = [...valuesIn({ a: [1, { b: 'x' }], c: null })].filter((value) => typeof value !== 'object' || !value);
  expect(values.toSorted()).toEqual([1, null, 'x'].toSorted());
});

test('a document nested half a million levels deep is visited', () => {
  let deep: unknown = 0;
  for (let i = 0; i < 500_000; i += 1) deep = [deep];
  expect([...valuesIn(deep)]).toHaveLength(500_001);
});
