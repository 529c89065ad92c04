import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { groupCommit } from './transaction.ts';

/** A flush whose batches end when, and in the order in which, the test decides. */
function heldFlush() {
  const batches: { items: number[]; end: PromiseWithResolvers<void> }[] = [];
  const flush = async (items: number[]): Promise<number[]> => {
    const end = Promise.withResolvers<void>();
    batches.push({ items, end });
    await end.promise;
    return items.map((item) => item * 10);
  };
  return { batches, flush };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('calls of the same turn form one batch', async () => {
  const { batches, flush } = heldFlush();
  const commit = groupCommit({ flush });
  const results = [commit(1), commit(2), commit(3)];
  await turn();
  expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]]);
  batches[0]?.end.resolve();
  expect(await Promise.all(results)).toEqual([10, 20, 30]);
});

test('a lone call is flushed in the same turn of the event loop: it waits for no timer', async () => {
  const { batches, flush } = heldFlush();
  void groupCommit({ flush })(1);
  await turn();
  expect(batches).toHaveLength(1);
});

test('calls that arrive while the maximum of flushes is in progress form the next batch', async () => {
  const { batches, flush } = heldFlush();
  const commit = groupCommit({ flush, inFlight: 1 });
  void commit(1);
  await turn();
  void commit(2);
  await turn();
  void commit(3);
  await turn();
  expect(batches.map(({ items }) => items)).toEqual([[1]]);
  batches[0]?.end.resolve();
  await turn();
  expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]]);
});

test('a flush that fails rejects its own calls with its error, and no others', async () => {
  const commit = groupCommit<number, number>({
    flush: async (items) => {
      if (items.includes(2)) throw new Error('no disk');
      return items;
    },
    maxItems: 2,
  });
  const results = await Promise.allSettled([commit(1), commit(2), commit(3)]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  expect(await commit(4)).toBe(4);
});

test('a flush that throws at once rejects its calls and does not stop the following ones', async () => {
  let first = true;
  const commit = groupCommit<number, number>({
    flush: (items) => {
      if (!first) return Promise.resolve(items);
      first = false;
      throw new Error('at once');
    },
  });
  await expect(commit(1)).rejects.toThrow('at once');
  expect(await commit(2)).toBe(2);
});

test('a flush that returns too few results rejects its calls instead of leaving one waiting forever', async () => {
  const commit = groupCommit<number, number>({ flush: async (items) => items.slice(1) });
  await expect(Promise.all([commit(1), commit(2)])).rejects.toThrow('flush of 2 items gave 1 results');
});

type Answer = { item: number; value?: number; error?: unknown };

propertyTest.prop([
  fc.array(fc.record({ pause: fc.boolean(), fails: fc.boolean() }), { maxLength: 60 }),
  fc.integer({ min: 1, max: 7 }),
  fc.integer({ min: 1, max: 3 }),
])(
  'every item is flushed once, in order, within the limits, and resolved separately',
  async (calls, maxItems, inFlight) => {
    const batches: number[][] = [];
    let [underWay, mostUnderWay] = [0, 0];
    const failing = (items: number[]): boolean => items.some((item) => calls[item]?.fails);
    const flush = async (items: number[]): Promise<number[]> => {
      batches.push(items);
      mostUnderWay = Math.max(mostUnderWay, ++underWay);
      await turn();
      underWay--;
      if (failing(items)) throw new Error('no flush', { cause: items });
      return items.map((item) => -item);
    };
    const commit = groupCommit({ flush, maxItems, inFlight });
    const answers: Promise<Answer>[] = [];
    for (const [item, call] of calls.entries()) {
      answers.push(
        commit(item).then(
          (value) => ({ item, value }),
          (error: Error) => ({ item, error: error.cause }),
        ),
      );
      if (call.pause) await turn();
    }
    for (const { item, value, error } of await Promise.all(answers)) {
      const batch = batches.find((items) => items.includes(item)) ?? [];
      expect([value, error]).toEqual(failing(batch) ? [undefined, batch] : [-item, undefined]);
    }
    expect(batches.flat()).toEqual(calls.map((_, item) => item));
    expect(batches.every(({ length }) => length > 0 && length <= maxItems)).toBe(true);
    expect(mostUnderWay).toBeLessThanOrEqual(inFlight);
  },
);
