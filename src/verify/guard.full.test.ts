import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { simulate } from '../../test/support/verify-patterns.ts';

const { pool } = testDatabase();
const seed = 43;
const MINUTES = 60_000;

test('one range that is pumped fast costs at most a fiftieth of its price', { timeout: 15 * MINUTES }, async () => {
  const { stoppedShare, hinderedShare } = await simulate(pool, 'oneRange', { seed });
  expect(stoppedShare).toBeGreaterThanOrEqual(0.98);
  expect(hinderedShare).toBeLessThanOrEqual(0.005);
});

test('a hundred slow ranges from distinct addresses are stopped for the most part', {
  timeout: 15 * MINUTES,
}, async () => {
  const { stoppedShare, hinderedShare } = await simulate(pool, 'manyRanges', { seed });
  expect(stoppedShare).toBeGreaterThanOrEqual(0.85);
  expect(hinderedShare).toBeLessThanOrEqual(0.005);
});

test('an attacker who enters one of ten codes among people is stopped for the most part', {
  timeout: 15 * MINUTES,
}, async () => {
  const { stoppedShare, hinderedShare } = await simulate(pool, 'mixed', { seed });
  expect(stoppedShare).toBeGreaterThanOrEqual(0.6);
  expect(hinderedShare).toBeLessThanOrEqual(0.005);
});

test('a launch passes: few are challenged, none is blocked, and it is calm after ten minutes', {
  timeout: 15 * MINUTES,
}, async () => {
  const { challengedShare, blockedPeople, challengedLate } = await simulate(pool, 'launch', { seed });
  expect(challengedShare).toBeLessThanOrEqual(0.02);
  expect([blockedPeople, challengedLate]).toEqual([0, 0]);
});

test('an outage of a carrier pauses no range, as it would if receipts reported deliveries', {
  timeout: 15 * MINUTES,
}, async () => {
  const known = await simulate(pool, 'outage', { seed });
  expect([known.pausedRanges, known.blockedPeople]).toEqual([0, 0]);
  const unknown = await simulate(pool, 'outage', { seed, claimsDelivery: true });
  expect(unknown.pausedRanges).toBeGreaterThan(0);
});
