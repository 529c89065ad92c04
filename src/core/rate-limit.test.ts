import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { createRateLimiter } from './limits.ts';

const RATE = { perMinute: 100, perSecond: 10 };

/** A limiter with a clock that the test moves. */
function limiterAt(startMs = 1_000_000) {
  let ms = startMs;
  const limiter = createRateLimiter({ now: () => ms, onUnpublished: () => undefined });
  const takeMany = (count: number, name = 'a'): number =>
    Array.from({ length: count }, () => limiter.take(name, RATE)).filter(({ allowed }) => allowed).length;
  return { ...limiter, takeMany, pass: (by: number) => (ms += by) };
}

test('the limits of a second and of a minute both hold', () => {
  const { takeMany, pass } = limiterAt();
  expect(takeMany(11)).toBe(10);
  const passed = Array.from({ length: 20 }, () => {
    pass(1000);
    return takeMany(11);
  });
  expect(passed).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test('counts expire after a minute, second by second', () => {
  const { takeMany, pass } = limiterAt();
  for (let i = 0; i < 10; i++) {
    takeMany(10);
    pass(1000);
  }
  pass(49_000);
  expect(takeMany(20)).toBe(0);
  pass(1000);
  expect(takeMany(20)).toBe(10);
});

test('the verdict has the remaining number and the time to wait', () => {
  const { take, pass, takeMany } = limiterAt();
  expect(take('a', RATE)).toEqual({ allowed: true, limit: 100, remaining: 99, resetSeconds: 60, retryAfterSeconds: 0 });
  takeMany(9);
  expect(take('a', RATE)).toEqual({
    allowed: false,
    limit: 100,
    remaining: 90,
    resetSeconds: 60,
    retryAfterSeconds: 1,
  });
  for (let i = 0; i < 9; i++) {
    pass(1000);
    takeMany(10);
  }
  expect(take('a', RATE)).toEqual({
    allowed: false,
    limit: 100,
    remaining: 0,
    resetSeconds: 51,
    retryAfterSeconds: 51,
  });
  pass(50_999);
  expect(take('a', RATE)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
  pass(1);
  expect(take('a', RATE)).toMatchObject({ allowed: true, remaining: 9, resetSeconds: 1 });
});

test('peeking counts nothing, and a new name has its full limit', () => {
  const { peek, take } = limiterAt();
  for (let i = 0; i < 200; i++) expect(peek('a', RATE)).toMatchObject({ allowed: true, remaining: 100 });
  expect(take('a', RATE).remaining).toBe(99);
});

test('names have separate limits', () => {
  const { takeMany } = limiterAt();
  expect([takeMany(20, 'a'), takeMany(20, 'b')]).toEqual([10, 10]);
});

test('a refunded count may be taken again', () => {
  const { takeMany, refund } = limiterAt();
  takeMany(10);
  refund('a');
  expect(takeMany(5)).toBe(1);
});

test('counts of another process fill the minute and not the second', () => {
  const [here, there] = [limiterAt(), limiterAt()];
  there.takeMany(10);
  here.addRemote(there.takeUnpublished());
  expect(here.takeMany(20)).toBe(10);
  expect(here.peek('a', RATE).remaining).toBe(80);
  expect(there.takeUnpublished()).toEqual([]);
});

test('it signals unpublished counts once, until they are taken', () => {
  let signals = 0;
  const { take, takeUnpublished } = createRateLimiter({ onUnpublished: () => signals++ });
  take('a', RATE);
  take('b', RATE);
  expect([signals, takeUnpublished(), takeUnpublished()]).toEqual([
    1,
    [
      ['a', 1],
      ['b', 1],
    ],
    [],
  ]);
  take('a', RATE);
  expect(signals).toBe(2);
});

test('only the most recent names are remembered, up to the maximum', () => {
  const { take, peek } = createRateLimiter({ maxNames: 2 });
  for (const name of ['a', 'b', 'c']) take(name, RATE);
  expect(['a', 'b', 'c'].map((name) => peek(name, RATE).remaining)).toEqual([100, 99, 99]);
});

property.prop([fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 50, maxLength: 600 }), fc.nat()])(
  'no span of 60 whole seconds lets more pass than the limit, whatever the pauses',
  (pauses, start) => {
    const { take, pass } = limiterAt(start);
    const seconds: number[] = [];
    for (const pause of pauses) {
      const now = pass(pause);
      if (take('a', { perMinute: 20, perSecond: 5 }).allowed) seconds.push(Math.floor(now / 1000));
    }
    for (const from of seconds) {
      expect(seconds.filter((at) => at >= from && at < from + 60).length).toBeLessThanOrEqual(20);
      expect(seconds.filter((at) => at === from).length).toBeLessThanOrEqual(5);
    }
  },
);
