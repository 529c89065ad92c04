import { expect, test } from 'vitest';
import type { Policy } from './policies.ts';
import { nextStanding, type Standing } from './standings.ts';

const policy = (more: Partial<Policy> = {}): Policy => ({
  id: 1,
  channel: 'SMS',
  prefix: '39',
  policy: 'least-cost',
  minDelivered: 800,
  maxReceiptSeconds: null,
  minSamples: 50,
  explore: 50,
  hours: 3,
  ...more,
});

const quality = (delivered: number, messages = 100, seconds = 5) => ({
  messages,
  delivered,
  receiptMs: delivered * seconds * 1000,
});

/** Returns the standing of a connection after each of these numbers of delivered messages among a hundred. */
function follow(shares: readonly number[], by = policy()): Standing[] {
  let standing: Standing = 'trial';
  return shares.map((delivered) => {
    standing = nextStanding(standing, quality(delivered), by);
    return standing;
  });
}

test('a connection with too few samples is on trial, whatever they say and whatever it was', () => {
  for (const before of ['good', 'trial', 'below'] as const) {
    expect(nextStanding(before, quality(0, 49), policy())).toBe('trial');
    expect(nextStanding(before, quality(49, 49), policy())).toBe('trial');
  }
  expect(nextStanding('trial', quality(50, 50), policy())).toBe('good');
});

test('a connection falls as soon as it is below the floor, and rises only when it is clearly above', () => {
  expect(follow([80, 79, 80, 82, 83, 80, 79])).toEqual(['good', 'below', 'below', 'below', 'good', 'good', 'below']);
});

test('a share that goes to and fro around the floor changes the standing once', () => {
  const around = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 81 : 79));
  expect(follow(around).filter((standing, i, all) => i > 0 && standing !== all[i - 1])).toHaveLength(1);
});

test('a connection can rise above a floor of nearly all messages too', () => {
  expect(follow([98, 99, 100], policy({ minDelivered: 990 }))).toEqual(['below', 'below', 'good']);
  expect(follow([99, 100], policy({ minDelivered: 1000 }))).toEqual(['below', 'good']);
});

test('receipts that take too long are below the floor, until they are clearly faster', () => {
  const by = policy({ maxReceiptSeconds: 10 });
  const after = (before: Standing, seconds: number) => nextStanding(before, quality(95, 100, seconds), by);
  expect([after('good', 10), after('good', 10.1), after('below', 9.5), after('below', 9)]).toEqual([
    'good',
    'below',
    'below',
    'good',
  ]);
});
