import { expect, test } from 'vitest';
import { readViews, withView } from './saved-views.ts';

const failed = { name: 'Failed', search: { status: 'failed' } };

test('a view replaces the one of the same name, and views are in the order of their names', () => {
  const two = withView([failed], { name: 'Anna', search: { q: 'anna' } });
  expect(two.map(({ name }) => name)).toEqual(['Anna', 'Failed']);
  expect(withView(two, { ...failed, search: {} })).toEqual([two[0], { name: 'Failed', search: {} }]);
});

test('whatever else is stored is left out', () => {
  const wrong = [null, 'x', {}, { name: 1, search: {} }, { name: 'a', search: null }, { name: 'b', search: { q: 1 } }];
  expect(readViews([...wrong, failed])).toEqual([failed]);
  for (const stored of [null, 'x', {}, undefined]) expect(readViews(stored)).toEqual([]);
});
