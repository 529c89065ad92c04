import { expect, test } from 'vitest';
import { type Sample, trendOf } from './samples.ts';

/** Samples of two hours, one a minute, of a heap that grows by this and holds between 0 and 40 MiB of requests under way. */
const samplesOf = (growthMiBPerHour: number): Sample[] =>
  Array.from({ length: 120 }, (_, minute) => ({
    atMs: minute * 60_000,
    accepted: minute * 4000,
    // More often under way towards the end: a line through all samples takes that for growth.
    heapMiB:
      110 + growthMiBPerHour * (minute / 60) + (minute % 6 === 0 ? 0 : ((minute * 7) % 40) * (0.5 + minute / 240)),
    rssMiB: 350,
    descriptors: 170,
    sessions: 10,
  }));

test('requests under way are not taken for a heap that grows', () => {
  expect(trendOf(samplesOf(0)).heapMiBPerHour).toBe(0);
});

test('a leak is measured whatever is under way', () => {
  expect(trendOf(samplesOf(5)).heapMiBPerHour).toBeCloseTo(5, 0);
});
