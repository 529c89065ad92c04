import { expect, test } from 'vitest';
import { receipt } from '../testing/receipts.ts';
import { createRecent } from './recent.ts';

test('batches stay until they are forgotten, or until newer ones need their room', () => {
  const recent = createRecent(3);
  const ids = (): number[] => [...recent.batches().keys()];
  const [one, two] = [[receipt('a')], [receipt('b'), receipt('c')]];
  recent.put(1, one);
  recent.put(2, two);
  expect(recent.batches()).toEqual(
    new Map([
      [1, one],
      [2, two],
    ]),
  );
  recent.put(3, one);
  expect(ids()).toEqual([2, 3]);
  recent.forget([2, 7]);
  recent.put(4, one);
  recent.put(5, one);
  expect(ids()).toEqual([3, 4, 5]);
});

test('what was asked for stays whole, whatever is put or forgotten meanwhile', () => {
  const recent = createRecent(1);
  recent.put(1, [receipt('a')]);
  const before = recent.batches();
  recent.put(2, [receipt('b')]);
  recent.forget([1, 2]);
  expect([...before.keys()]).toEqual([1]);
});

test('a batch that alone is more than there is room for is not kept', () => {
  const recent = createRecent(1);
  recent.put(1, [receipt('a'), receipt('b')]);
  expect(recent.batches().size).toBe(0);
});

test.each(['raw', 'sender', 'destination', 'errorCode'] as const)('a NUL in %s is left to the database', (field) => {
  const recent = createRecent();
  recent.put(1, [receipt('a', { [field]: 'x\0' })]);
  recent.put(2, [receipt('a\0')]);
  expect(recent.batches().size).toBe(0);
});
