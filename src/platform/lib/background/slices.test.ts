import { expect, test } from 'vitest';
import { mapInSlices } from './slices.ts';

/** Work that takes as long as a slice. */
function work(): void {
  const end = performance.now() + 11;
  while (performance.now() < end);
}

test('long work lets others have their turn before it is done, and keeps the order of its items', async () => {
  const order: string[] = [];
  const mapped = mapInSlices([1, 2, 3], (item, i) => {
    work();
    order.push(`item ${item}`);
    return item * 10 + i;
  });
  setImmediate(() => order.push('another one'));
  expect(await mapped).toEqual([10, 21, 32]);
  expect(order.indexOf('another one')).toBeLessThan(order.indexOf('item 3'));
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
