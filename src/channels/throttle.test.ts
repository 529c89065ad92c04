import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createThrottle, type Throttle } from './throttle.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a carrier that takes nothing', () => {
  /** Rejects a part, waits for the end of the pause and returns its length. */
  function pauseOf(throttle: Throttle): number {
    throttle.refused(throttle.begin());
    const ms = throttle.pauseMs();
    vi.advanceTimersByTime(ms);
    return ms;
  }

  test('gets pauses that double up to 30 s, and short ones again after it took something', () => {
    const throttle = createThrottle(1000, () => undefined);
    expect(Array.from({ length: 7 }, () => pauseOf(throttle))).toEqual([
      1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
    ]);
    throttle.accepted();
    vi.advanceTimersByTime(5000);
    throttle.pause();
    expect(throttle.pauseMs()).toBe(1000);
  });

  test('gets one pause for many refusals of one burst', () => {
    const throttle = createThrottle(1000, () => undefined);
    const tickets = Array.from({ length: 10 }, throttle.begin);
    for (const ticket of tickets) throttle.refused(ticket);
    vi.advanceTimersByTime(1000);
    expect(throttle.pauseMs()).toBe(0);
    expect(pauseOf(throttle)).toBe(2000);
  });

  test('is asked for one part at a time after a pause', () => {
    const throttle = createThrottle(1000, () => undefined);
    expect(pauseOf(throttle)).toBe(1000);
    expect(throttle.ready()).toBe(true);
    throttle.take(1);
    expect(throttle.ready()).toBe(false);
    throttle.accepted();
    expect(throttle.ready()).toBe(true);
  });

  test('has the end of its pause reported once, when it is really over', () => {
    const left: number[] = [];
    const throttle = createThrottle(1000, () => left.push(throttle.pauseMs()));
    throttle.pause();
    vi.advanceTimersByTime(999);
    expect(left).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(left).toEqual([0]);
  });
});

test('a carrier that asks for a pause gets it, even if it takes messages', () => {
  const throttle = createThrottle(1000, () => undefined);
  throttle.accepted();
  throttle.refused(throttle.begin(), 7000);
  expect([throttle.pauseMs(), throttle.retryMs()]).toEqual([7000, 7000]);
});

const STEP_MS = 5;

/** Decision of a carrier about one more part; `limit` is the number of parts per second that it allows now. */
type Policy = (limit: () => number) => () => boolean;

/** Allows bursts of a quarter of a second. */
const bucket: Policy = (limit) => {
  let [tokens, at] = [limit() / 4, performance.now()];
  return () => {
    const now = performance.now();
    tokens = Math.min(Math.max(1, limit() / 4), tokens + ((now - at) / 1000) * limit());
    at = now;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
};

/** Counts by the second of its clock. */
const perSecond: Policy = (limit) => {
  let [second, count] = [-1, 0];
  return () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, count] = [now, 0];
    return ++count <= limit();
  };
};

/**
 * Sends as much as the throttle allows for some seconds. Returns the counts of parts that the carrier took and
 * rejected.
 */
function send(throttle: Throttle, take: () => boolean, seconds: number, rttMs: number) {
  const answers: { at: number; ok: boolean; ticket: number }[] = [];
  const counts = { taken: 0, refused: 0 };
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    while ((answers[0]?.at ?? Number.POSITIVE_INFINITY) <= performance.now()) {
      const { ok = false, ticket = 0 } = answers.shift() ?? {};
      if (ok) throttle.accepted(ticket);
      else throttle.refused(ticket);
      counts[ok ? 'taken' : 'refused']++;
    }
    while (answers.length < 200 && throttle.ready()) {
      throttle.take(1);
      const ticket = throttle.begin();
      answers.push({ at: performance.now() + rttMs, ok: take(), ticket });
    }
    vi.advanceTimersByTime(STEP_MS);
  }
  return counts;
}

describe.each([
  ['that allows bursts of a quarter of a second', bucket],
  ['that counts by the second', perSecond],
])('a carrier %s', (_, policy) => {
  test.each([5, 100])('has its changing limit found and kept, with responses after %i ms', (rttMs) => {
    let limit = 80;
    const throttle = createThrottle(1000, () => undefined);
    const take = policy(() => limit);
    for (const next of [80, 20, 200, 80]) {
      limit = next;
      send(throttle, take, 8, rttMs);
      const { taken, refused } = send(throttle, take, 20, rttMs);
      expect(taken / (20 * limit), `at ${limit} per second`).toBeGreaterThan(0.9);
      expect(refused / (taken + refused), `at ${limit} per second`).toBeLessThan(0.1);
    }
  });
});

test('without a refusal there is no limit', () => {
  const throttle = createThrottle(1000, () => undefined);
  expect(send(throttle, () => true, 1, STEP_MS).taken).toBe(200 * (1000 / STEP_MS - 1));
});

test('an idle carrier is not asked for more than it took before', () => {
  const throttle = createThrottle(1000, () => undefined);
  const take = bucket(() => 80);
  send(throttle, take, 20, STEP_MS);
  vi.advanceTimersByTime(3_600_000);
  expect(throttle.perSecond()).toBeLessThan(130);
  expect(send(throttle, take, 1, STEP_MS).refused).toBeLessThan(20);
});

test('refusals of a few recipients do not slow the others down', () => {
  const throttle = createThrottle(1000, () => undefined);
  let sent = 0;
  const { taken } = send(throttle, () => ++sent % 100 !== 0, 5, STEP_MS);
  expect(taken).toBeGreaterThan(100_000);
});

describe('towards a carrier with little traffic', () => {
  const MESSAGES_PER_SECOND = 2;

  /** Sends messages one by one, some of which are rejected three times. Returns the longest wait of one. */
  function maxWaitMs(throttle: Throttle, seconds: number, isRefused: (n: number) => boolean): number {
    const due = new Map<number, number[]>();
    const startMs = performance.now();
    const put = (ms: number, n: number): unknown => due.set(ms, [...(due.get(ms) ?? []), n]);
    for (let n = 0; n < seconds * MESSAGES_PER_SECOND; n++) put(startMs + (n * 1000) / MESSAGES_PER_SECOND, n);
    const tries = new Map<number, number>();
    const waiting: { n: number; sinceMs: number }[] = [];
    let longest = 0;
    while (performance.now() < startMs + seconds * 1000) {
      const nowMs = performance.now();
      waiting.push(...(due.get(nowMs) ?? []).map((n) => ({ n, sinceMs: nowMs })));
      for (let next = waiting[0]; next && throttle.ready(); next = waiting[0]) {
        waiting.shift();
        longest = Math.max(longest, nowMs - next.sinceMs);
        throttle.take(1);
        const [ticket, before] = [throttle.begin(), tries.get(next.n) ?? 0];
        if (!isRefused(next.n) || before === 3) throttle.accepted(ticket);
        else {
          throttle.refused(ticket);
          tries.set(next.n, before + 1);
          put(nowMs + Math.ceil(throttle.retryMs(before) / STEP_MS) * STEP_MS, next.n);
        }
      }
      vi.advanceTimersByTime(STEP_MS);
    }
    return longest;
  }

  test('one that is refused again and again holds up no other', () => {
    const throttle = createThrottle(1000, () => undefined);
    expect(maxWaitMs(throttle, 120, (n) => n === 60)).toBe(0);
  });

  test('many of them hold up the others for a moment, and not for minutes', () => {
    const throttle = createThrottle(1000, () => undefined);
    expect(maxWaitMs(throttle, 600, (n) => n % 4 === 3)).toBeLessThan(1000);
  });
});

test('a carrier that allows one part a second has that found', () => {
  const throttle = createThrottle(1000, () => undefined);
  const take = bucket(() => 1);
  send(throttle, take, 60, STEP_MS);
  const { taken, refused } = send(throttle, take, 300, STEP_MS);
  expect(taken / 300).toBeGreaterThan(0.8);
  expect(refused / (taken + refused)).toBeLessThan(0.1);
});

test('refusals of one part in a hundred at random take only that share of the rate', () => {
  const share = 0.01;
  let seed = 7;
  const chance = (): number => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (const rttMs of [5, 100]) {
    const throttle = createThrottle(1000, () => undefined);
    // Paced like a connection with an agreed rate of 100 parts per second.
    const agreed = bucket(() => 100);
    const limited: Throttle = { ...throttle, ready: () => throttle.ready() && agreed() };
    const { taken } = send(limited, () => chance() > share, 120, rttMs);
    expect(taken / (120 * 100 * (1 - share)), `with responses after ${rttMs} ms`).toBeGreaterThan(0.9);
  }
});
