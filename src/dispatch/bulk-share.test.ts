import { expect, test } from 'vitest';
import { createBulkShare } from './pacing.ts';

/** A share whose clock is moved by hand, after 10,000 messages that got a response within a second. */
function shareAt10PerMs(answerMs: number) {
  let ms = 0;
  const share = createBulkShare(() => ms);
  const onAnswer = share.written();
  ms += answerMs;
  onAnswer?.(true);
  for (let n = 0; n < 10; n++) {
    ms += 100;
    share.answered(1000);
  }
  return share;
}

test('before anything got a response, a hundred may be under way', () => {
  expect(createBulkShare(() => 0).maxUnderWay()).toBe(100);
});

test('a fast carrier gets as many as it responds to within 25 ms', () => {
  expect(shareAt10PerMs(3).maxUnderWay()).toBe(250);
});

test('a carrier whose responses take long gets as many as it responds to in twice that time', () => {
  expect(shareAt10PerMs(100).maxUnderWay()).toBeGreaterThan(1800);
});

test('one write at a time is timed, and the shortest time counts', () => {
  let ms = 0;
  const share = createBulkShare(() => ms);
  const first = share.written();
  expect(share.written()).toBeUndefined();
  ms = 20;
  first?.(true);
  const second = share.written();
  ms = 500;
  second?.(true);
  // Never written: the bind was lost.
  share.written()?.(false);
  share.answered(5000);
  expect(share.maxUnderWay()).toBe((5000 / 500) * 40);
});

test('a slow carrier still gets a hundred', () => {
  let ms = 0;
  const share = createBulkShare(() => ms);
  ms = 1000;
  share.answered(10);
  expect(share.maxUnderWay()).toBe(100);
});
