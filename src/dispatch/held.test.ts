import { expect, test } from 'vitest';
import {
  createHeld,
  finishedBy,
  type HeldChunk,
  intentsOf,
  isDone,
  type Job,
  NO_PRIORITY,
  type Settled,
} from './held.ts';
import type { Chunk } from './store.ts';

const job = (messageId: string, parts = 1): Job => ({
  messageId,
  destination: '+351912345678',
  sender: 'ACME',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
  parts,
  priceMicros: 0,
  refundUndelivered: false,
  channel: 'SMS',
  campaignId: null,
  keepsReserve: false,
});

const chunk = (id: number, more: Partial<Chunk> = {}): Chunk => ({
  id,
  accountId: 1,
  priority: 1,
  round: 0,
  attempt: 0,
  tries: 0,
  alternates: [],
  onUnknown: 'hold',
  campaignId: null,
  intent: 0,
  ids: ['a', 'b', 'c'].map((name) => `${id}${name}`),
  ...more,
});

/** Chunks of three messages each. */
function holding(...chunks: Chunk[]) {
  const held = createHeld();
  for (const next of chunks)
    held.add(
      next,
      next.ids.map((id) => job(id)),
    );
  const found = (id: number): HeldChunk => {
    const chunkFound = held.list().find((c) => c.id === id);
    if (!chunkFound) throw new Error(`no chunk ${id}`);
    return chunkFound;
  };
  return { held, found };
}

const always = (): boolean => true;
const settledOf = (of: HeldChunk, count: number): Settled[] =>
  of.jobs.slice(0, count).map((next) => ({
    chunk: of,
    job: next,
    outcome: { kind: 'accepted', carrierIds: ['x'] },
    answeredAt: new Date(),
    elsewhere: false,
  }));

test('the best chunk goes first: by priority, then by round, then by age', () => {
  const { held } = holding(
    chunk(4, { priority: 2 }),
    chunk(3, { priority: 1, round: 1 }),
    chunk(2, { priority: 1, round: 0 }),
    chunk(1, { priority: 1, round: 0 }),
    chunk(5, { priority: 0, round: 9 }),
  );
  const order = held.pick({ free: 100, kept: 0 }, always).map((pick) => pick.chunk.id);
  expect([...new Set(order)]).toEqual([5, 1, 2, 3, 4]);
  expect(held.bestPriority()).toBe(0);
});

test('a pick takes messages that were not written yet, as many as there is room for, and changes nothing', () => {
  const { held, found } = holding(chunk(1), chunk(2));
  found(1).written = 2;
  const names = (): string[] => held.pick({ free: 3, kept: 0 }, always).map((pick) => pick.job.messageId);
  expect(names()).toEqual(['1c', '2a', '2b']);
  expect(names()).toEqual(['1c', '2a', '2b']);
  expect(held.waiting()).toBe(4);
});

test('a pick ends at the rate limit, which counts the parts of each message', () => {
  const held = createHeld();
  held.add(chunk(1), [job('a', 2), job('b', 3), job('c', 1)]);
  const asked: number[] = [];
  const picks = held.pick({ free: 10, kept: 0 }, ({ parts }) => {
    asked.push(parts);
    return asked.length < 3;
  });
  expect(picks.map((pick) => pick.job.messageId)).toEqual(['a', 'b']);
  expect(asked).toEqual([2, 3, 1]);
});

test('a message whose sender must wait stops its own chunk only', () => {
  const { held } = holding(chunk(1), chunk(2));
  const picks = held.pick({ free: 10, kept: 0 }, ({ messageId }) => messageId !== '1b');
  expect(picks.map((pick) => pick.job.messageId)).toEqual(['1a', '2a', '2b', '2c']);
});

test('what is kept of the room goes to urgent messages only', () => {
  const { held } = holding(chunk(1), chunk(2, { priority: 0 }));
  const names = (free: number, kept: number) => held.pick({ free, kept }, always).map((pick) => pick.job.messageId);
  expect(names(5, 2)).toEqual(['2a', '2b', '2c']);
  expect(names(6, 2)).toEqual(['2a', '2b', '2c', '1a']);
  expect(names(2, 2)).toEqual(['2a', '2b']);
});

test('without room the rate is not asked, because asking uses it up', () => {
  const { held } = holding(chunk(1));
  expect(
    held.pick({ free: 0, kept: 0 }, () => {
      throw new Error('asked');
    }),
  ).toEqual([]);
});

test('lost and written messages no longer wait', () => {
  const { held, found } = holding(chunk(1), chunk(2));
  found(1).lost = true;
  found(2).written = 3;
  expect(held.pick({ free: 10, kept: 0 }, always)).toEqual([]);
  expect(held.waiting()).toBe(0);
  expect(held.bestPriority()).toBe(NO_PRIORITY);
});

test('a chunk that comes a second time was rescued in between: the first is lost', () => {
  const { held, found } = holding(chunk(1));
  const first = found(1);
  held.add(chunk(1, { ids: ['1c'] }), [job('1c')]);
  expect(first.lost).toBe(true);
  expect(held.pick({ free: 10, kept: 0 }, always).map((pick) => pick.job.messageId)).toEqual(['1c']);
});

test('a dropped chunk is removed, and the others stay', () => {
  const { held, found } = holding(chunk(1), chunk(2), chunk(3));
  held.drop(found(2));
  expect(held.list().map((c) => c.id)).toEqual([1, 3]);
});

test('an intent counts from the start of its chunk', () => {
  const { held, found } = holding(chunk(1), chunk(2));
  found(1).written = 1;
  expect(intentsOf(held.pick({ free: 4, kept: 0 }, always))).toEqual(
    new Map([
      [1, 3],
      [2, 2],
    ]),
  );
});

test('a chunk is done when all its messages are settled, a lost one when all that were written are', () => {
  const { found } = holding(chunk(1));
  const one = found(1);
  Object.assign(one, { written: 2, settled: 2 });
  expect(isDone(one)).toBe(false);
  one.lost = true;
  expect(isDone(one)).toBe(true);
  Object.assign(one, { written: 3, settled: 3, lost: false });
  expect(isDone(one)).toBe(true);
});

test('the last outcomes finish a chunk, also when they come in one batch with those of others', () => {
  const { found } = holding(chunk(1), chunk(2), chunk(3));
  found(1).settled = 1;
  found(3).lost = true;
  const settled = [...settledOf(found(1), 2), ...settledOf(found(2), 2), ...settledOf(found(3), 3)];
  expect(finishedBy(settled)).toEqual([1]);
});

test('dropping a chunk that is no longer held drops no other one', () => {
  const { held, found } = holding(chunk(1), chunk(2));
  const first = found(1);
  held.drop(first);
  held.drop(first);
  expect(held.list()).toEqual([found(2)]);
});

test('what waits is counted of all chunks, or of some', () => {
  const { held } = holding(chunk(1, { priority: 0 }), chunk(2), chunk(3));
  expect(held.waiting()).toBe(9);
  expect(held.waiting(({ priority }) => priority === 0)).toBe(3);
});
