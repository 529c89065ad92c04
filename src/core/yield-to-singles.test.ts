import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test, vi } from 'vitest';
import { bulkSize, isSendingSingles, recordSingleSend, yieldToSingles } from './background.ts';

/** Later than any single message that other tests in this process have recorded. */
let ms = performance.now() + 3_600_000;
beforeEach(() => {
  ms += 10_000;
  vi.spyOn(performance, 'now').mockImplementation(() => ms);
});

test('within a second of a single message, work in bulk is done in quarters; otherwise as a whole', () => {
  expect([isSendingSingles(), bulkSize(1000)]).toEqual([false, 1000]);
  recordSingleSend();
  ms += 900;
  expect([isSendingSingles(), bulkSize(1000)]).toEqual([true, 250]);
  ms += 101;
  expect([isSendingSingles(), bulkSize(1000)]).toEqual([false, 1000]);
});

test('work in bulk rests after a single message, and goes on at once when there was none', async () => {
  const order: string[] = [];
  const work = yieldToSingles(ms - 40).then(() => order.push('work'));
  await nextTurn().then(() => order.push('others'));
  await work;
  recordSingleSend();
  const rested = yieldToSingles(ms - 40).then(() => order.push('work'));
  await nextTurn().then(() => order.push('others'));
  await rested;
  expect(order).toEqual(['work', 'others', 'others', 'work']);
});
