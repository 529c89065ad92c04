import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { createFairQueue } from './fair-queue.ts';

const [A, B, C] = [1, 2, 3];

/** A queue whose work the test ends one by one; `began` is the order in which the work got its slot. */
function watched(options: Parameters<typeof createFairQueue>[0]) {
  const queue = createFairQueue(options);
  const began: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const runs: Promise<void>[] = [];
  function add(accountId: number, name: string, cost = 0): void {
    const ending = Promise.withResolvers<void>();
    ends.set(name, ending);
    const work = (): Promise<void> => {
      began.push(name);
      return ending.promise;
    };
    runs.push(queue.run(accountId, work, { cost }));
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  async function end(...names: string[]): Promise<void> {
    await settled();
    for (const name of names) {
      ends.get(name)?.resolve();
      await settled();
    }
  }
  return { queue, began, runs, add, end, settled };
}

test('no more work runs than there are slots, and the work of one account in the order of the calls', async () => {
  const { began, add, end, settled } = watched({ size: 2, perAccount: 2 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) add(A, name);
  await settled();
  expect(began).toEqual(['a1', 'a2']);
  await end('a2');
  expect(began).toEqual(['a1', 'a2', 'a3']);
  await end('a1', 'a3');
  expect(began).toEqual(['a1', 'a2', 'a3', 'a4']);
});

test('accounts take turns, however much one of them has waiting', async () => {
  const { began, add, end } = watched({ size: 1, perAccount: 1 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) add(A, name);
  for (const name of ['b1', 'b2']) add(B, name);
  add(C, 'c1');
  await end('a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4');
  expect(began).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('an account never holds all slots, so that another one need not wait for it', async () => {
  const { began, add, settled } = watched({ size: 2, perAccount: 1 });
  for (const name of ['a1', 'a2']) add(A, name);
  await settled();
  expect(began).toEqual(['a1']);
  add(B, 'b1');
  await settled();
  expect(began).toEqual(['a1', 'b1']);
});

test('a free slot goes to the account that holds the fewest', async () => {
  const { began, add, end } = watched({ size: 3, perAccount: 2 });
  add(A, 'a1');
  add(A, 'a2');
  add(B, 'b1');
  add(A, 'a3');
  add(B, 'b2');
  add(C, 'c1');
  await end('b1', 'a1', 'c1');
  expect(began).toEqual(['a1', 'a2', 'b1', 'c1', 'b2', 'a3']);
});

test('the cheapest work of an account goes first, but not before another account', async () => {
  const { began, add, end } = watched({ size: 1, perAccount: 1 });
  add(A, 'running');
  add(A, 'large', 100);
  add(B, 'other', 1000);
  add(A, 'small', 1);
  add(A, 'as small', 1);
  await end('running', 'other', 'small', 'as small', 'large');
  expect(began).toEqual(['running', 'other', 'small', 'as small', 'large']);
});

test('a failure gives the slot back, and so does disposing of it twice, once', async () => {
  const { queue, began, add, settled } = watched({ size: 1, perAccount: 1 });
  await expect(queue.run(A, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  const slot = await queue.enter(A);
  slot[Symbol.dispose]();
  slot[Symbol.dispose]();
  add(A, 'a1');
  add(B, 'b1');
  await settled();
  expect(began).toEqual(['a1']);
});

test('who gives up leaves the queue, and the slot goes to the next', async () => {
  const { queue, began, add, end } = watched({ size: 1, perAccount: 1 });
  add(A, 'a1');
  const patience = new AbortController();
  const waiting = queue.enter(B, { signal: patience.signal });
  add(C, 'c1');
  patience.abort(new Error('too long'));
  await expect(waiting).rejects.toThrow('too long');
  await expect(queue.enter(B, { signal: patience.signal })).rejects.toThrow('too long');
  await end('a1');
  expect(began).toEqual(['a1', 'c1']);
});

const jobs = fc.array(fc.record({ accountId: fc.integer({ min: 1, max: 4 }), cost: fc.integer({ min: 0, max: 3 }) }), {
  minLength: 2,
  maxLength: 40,
});
propertyTest.prop([jobs, fc.integer({ min: 1, max: 3 })])(
  'while an account waits, no other one gets two turns with one slot',
  async (all, perAccount) => {
    const { began, add, end, settled } = watched({ size: 1, perAccount });
    for (const [i, { accountId, cost }] of all.entries()) add(accountId, `${accountId}:${i}`, cost);
    await settled();
    for (let done = 0; done < all.length; done++) await end(began[done] ?? '');
    expect(began).toHaveLength(all.length);
    const owners = began.map((name) => Number(name.split(':')[0]));
    for (const [at, owner] of owners.entries()) {
      const again = owners.indexOf(owner, at + 1);
      if (again < 0) continue;
      const between = new Set(owners.slice(at + 1, again));
      const waiting = new Set(owners.slice(again).filter((other) => other !== owner));
      expect([...waiting].filter((other) => !between.has(other))).toEqual([]);
    }
  },
);
