import { expect, test } from 'vitest';
import { countTurns, work } from '../../test/support/loop-turns.ts';
import { mapInSlices, nextTurn } from './background.ts';

/** Work that takes longer than a slice. */
const workLong = (): void => work(3);

test('long work lets others have their turn before it is done, and keeps the order of its items', async () => {
  const order: string[] = [];
  const mapped = mapInSlices([1, 2, 3], (item, i) => {
    workLong();
    order.push(`item ${item}`);
    return item * 10 + i;
  });
  setImmediate(() => order.push('another one'));
  expect(await mapped).toEqual([10, 21, 32]);
  expect(order.indexOf('another one')).toBeLessThan(order.indexOf('item 3'));
});

test('in a turn of the event loop only one slice is worked on, however much work there is', async () => {
  const turns = countTurns();
  const slices: number[] = [];
  const items = Array.from({ length: 100 }, (_, i) => i);
  const oneSliceForEach50 = (_: number, i: number): void => {
    if (i % 50 !== 0) return;
    workLong();
    slices.push(turns());
  };
  await Promise.all([1, 2, 3].map(() => mapInSlices(items, oneSliceForEach50)));
  expect(slices).toHaveLength(6);
  expect(new Set(slices).size).toBe(6);
});

test('the longest waiter for a turn goes on first', async () => {
  const order: string[] = [];
  const goOn = async (name: string): Promise<void> => {
    await nextTurn();
    order.push(`${name} once`);
    await nextTurn();
    order.push(`${name} twice`);
  };
  await Promise.all([goOn('a'), goOn('b')]);
  expect(order).toEqual(['a once', 'b once', 'a twice', 'b twice']);
});

test('short work is done at once', async () => {
  const order: string[] = [];
  const mapped = mapInSlices([1, 2, 3], (item) => void order.push(`item ${item}`));
  order.push('called');
  expect(order).toEqual(['item 1', 'item 2', 'item 3', 'called']);
  await mapped;
});

test('an error of an item rejects', async () => {
  const failing = mapInSlices([1], () => {
    throw new Error('this item');
  });
  await expect(failing).rejects.toThrow('this item');
});
