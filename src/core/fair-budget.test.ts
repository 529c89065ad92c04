import { expect, test } from 'vitest';
import { createFairBudget } from './limits.ts';

/** A budget of ten, four for each caller, and the names of the cut ones. */
function budgetOfTen() {
  const cuts: string[] = [];
  const budget = createFairBudget({ all: 10, perCaller: 4 });
  const take = (caller: string, amount = 1, name = caller) =>
    budget.take(caller, amount, () => {
      cuts.push(name);
      return true;
    });
  return { ...budget, take, cuts };
}

test('a caller holds at most its part, and may take again what it returned', () => {
  const { take, held } = budgetOfTen();
  const releases = [1, 2, 3, 4].map(() => take('a'));
  expect(take('a')).toBe('caller');
  const [first] = releases;
  if (typeof first === 'function') {
    first();
    first();
  }
  expect(held()).toBe(3);
  expect(take('a')).toBeTypeOf('function');
});

test('callers who hold the most make room for one who holds less, their newest holding first', () => {
  const { take, cuts, held } = budgetOfTen();
  for (const caller of ['a', 'b'])
    for (const each of [1, 2, 3, 4]) expect(take(caller, 1, `${caller}${each}`)).toBeTypeOf('function');
  expect(take('c', 2, 'c')).toBeTypeOf('function');
  expect(take('d', 1, 'd')).toBeTypeOf('function');
  expect(cuts).toEqual(['a4']);
  expect(take('d', 1, 'd')).toBeTypeOf('function');
  expect(cuts).toEqual(['a4', 'b4']);
  expect(held()).toBe(10);
});

test('no holder makes room for a caller who would hold as much', () => {
  const { take, cuts } = budgetOfTen();
  for (let n = 0; n < 10; n++) take(`caller ${n}`);
  expect(take('another')).toBe('all');
  expect(cuts).toEqual([]);
});

test('what cannot be cut stays', () => {
  const budget = createFairBudget({ all: 4, perCaller: 4 });
  for (let n = 0; n < 4; n++) budget.take('a', 1, () => false);
  expect(budget.take('b', 1, () => true)).toBe('all');
  expect(budget.held()).toBe(4);
});

test('no holder is cut for a caller who could not be served anyway', () => {
  const { take, cuts } = budgetOfTen();
  for (const caller of ['a', 'b', 'c']) take(caller, 3);
  expect(take('d', 2)).toBeTypeOf('function');
  expect(cuts).toEqual(['a']);
  expect(take('e', 4)).toBe('all');
  expect(cuts).toEqual(['a']);
});
