import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { createTokenBucket } from './limits.ts';

/** A bucket and its own clock. */
function bucketAt(perSecond: number) {
  let time = 0;
  const bucket = createTokenBucket(perSecond, () => time);
  const pass = (ms: number): void => {
    time += ms;
  };
  return { bucket, pass };
}

test('a rate of 0 is no limit', () => {
  const { bucket } = bucketAt(0);
  for (let i = 0; i < 10_000; i++) bucket.take(10);
  expect(bucket.ready()).toBe(true);
  expect(bucket.waitMs()).toBe(0);
});

test('a burst of a quarter of a second passes at once, then the rate holds', () => {
  const { bucket, pass } = bucketAt(100);
  let sent = 0;
  for (; bucket.ready(); sent++) bucket.take(1);
  expect(sent).toBe(25);
  pass(10);
  expect(bucket.ready()).toBe(true);
});

test('a message that is not urgent leaves the tokens of a tenth of a second to urgent ones', () => {
  const { bucket, pass } = bucketAt(100);
  let sent = 0;
  for (; bucket.ready(false); sent++) bucket.take(1);
  expect(sent).toBe(15);
  expect(bucket.ready()).toBe(true);
  expect([bucket.waitMs(), bucket.waitMs(false)]).toEqual([0, 10]);
  pass(10);
  expect(bucket.ready(false)).toBe(true);
});

test('a rate so low that only one message may be sent at a time keeps nothing', () => {
  const { bucket } = bucketAt(2);
  expect(bucket.ready(false)).toBe(true);
});

test('a message of many parts passes as one, and the following ones wait for it', () => {
  const { bucket, pass } = bucketAt(4);
  expect(bucket.ready()).toBe(true);
  bucket.take(10);
  pass(2000);
  expect(bucket.ready()).toBe(false);
  pass(500);
  expect(bucket.ready()).toBe(true);
});

test('a long pause allows no more than one burst', () => {
  const { bucket, pass } = bucketAt(40);
  pass(3_600_000);
  let sent = 0;
  for (; bucket.ready(); sent++) bucket.take(1);
  expect(sent).toBe(10);
});

test('a new rate applies at once, and a negative balance stays', () => {
  const { bucket, pass } = bucketAt(100);
  bucket.take(35);
  bucket.setRate(50);
  expect(bucket.perSecond()).toBe(50);
  pass(200);
  expect(bucket.ready()).toBe(false);
  pass(20);
  expect(bucket.ready()).toBe(true);
});

test('the balance of a higher rate is cut to the burst of the lower one', () => {
  const { bucket } = bucketAt(100);
  bucket.setRate(20);
  let sent = 0;
  for (; bucket.ready(); sent++) bucket.take(1);
  expect(sent).toBe(5);
});

test('what passed without a limit is not counted once there is one', () => {
  const { bucket, pass } = bucketAt(0);
  bucket.take(10_000);
  bucket.setRate(10);
  expect(bucket.ready()).toBe(false);
  pass(100);
  expect(bucket.ready()).toBe(true);
  bucket.setRate(0);
  bucket.take(100);
  expect(bucket.ready()).toBe(true);
});

propertyTest.prop([
  fc.integer({ min: 1, max: 5000 }),
  fc.array(fc.record({ ms: fc.integer({ min: 0, max: 2000 }), parts: fc.integer({ min: 1, max: 10 }) }), {
    maxLength: 200,
    size: 'max',
  }),
])('never sends more than the rate, one burst and one message', (perSecond, steps) => {
  const { bucket, pass } = bucketAt(perSecond);
  let [sent, elapsed] = [0, 0];
  for (const { ms, parts } of steps) {
    pass(ms);
    elapsed += ms;
    if (bucket.ready()) {
      bucket.take(parts);
      sent += parts;
    }
    const burst = Math.max(1, perSecond / 4);
    expect(sent).toBeLessThanOrEqual((elapsed * perSecond) / 1000 + burst + 10);
  }
});

propertyTest.prop([fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 100 })])(
  'is ready after the wait that it names, and not much before',
  (perSecond, debt) => {
    const { bucket, pass } = bucketAt(perSecond);
    bucket.take(Math.ceil(perSecond / 4) + debt);
    const wait = bucket.waitMs();
    expect(wait).toBeGreaterThan(0);
    pass(wait - 2);
    expect(bucket.ready()).toBe(false);
    pass(2 + 1e-6);
    expect(bucket.ready()).toBe(true);
  },
);
