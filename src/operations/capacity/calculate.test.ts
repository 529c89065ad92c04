import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { type Capacity, calculateCapacity, type Demand, usualPeak } from './calculate.ts';
import { COSTS } from './figures.ts';

const MILLION: Demand = {
  perDay: 1_000_000,
  peakPerSecond: usualPeak(1_000_000),
  shareBulk: 1,
  shareCampaigns: 0,
  parts: 1,
  eventsPerMessage: 0,
  inboundPerDay: 0,
  keepDays: 90,
};

const amount = fc.integer({ min: 0, max: 100_000_000 });
const demands = fc
  .record({
    perDay: amount,
    peakPerSecond: fc.integer({ min: 0, max: 100_000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    ofIt: fc.double({ min: 0, max: 1, noNaN: true }),
    parts: fc.integer({ min: 1, max: 10 }),
    eventsPerMessage: fc.integer({ min: 0, max: 2 }),
    inboundPerDay: amount,
    keepDays: fc.integer({ min: 1, max: 400 }),
  })
  .map(
    ({ share, ofIt, ...rest }): Demand => ({ ...rest, shareBulk: share * ofIt, shareCampaigns: share * (1 - ofIt) }),
  );

/** Every number of a result, in a fixed order. */
const numbersOf = (capacity: Capacity): number[] =>
  Object.values(capacity).flatMap((value) => (typeof value === 'string' ? [] : value));

/** Whether each number is at least the other, but for the rounding of doubles. */
const isAtLeast = (more: Capacity, less: Capacity): boolean => {
  const lower = numbersOf(less);
  return numbersOf(more).every((value, at) => value >= (lower[at] ?? 0) * (1 - 1e-9));
};

property.prop([demands, fc.constantFrom('perDay', 'peakPerSecond', 'parts', 'eventsPerMessage', 'keepDays'), amount])(
  'more of anything never takes less',
  (demand, name, more) => {
    // The same number of inbound messages at the peak: they come with the messages that are sent.
    const less = { ...demand, inboundPerDay: 0 };
    expect(isAtLeast(calculateCapacity({ ...less, [name]: less[name] + more }), calculateCapacity(less))).toBe(true);
  },
);

property.prop([demands, amount])('more inbound messages never take less', (demand, more) => {
  const inboundPerDay = demand.inboundPerDay + more;
  expect(isAtLeast(calculateCapacity({ ...demand, inboundPerDay }), calculateCapacity(demand))).toBe(true);
});

property.prop([demands])('a message one by one never takes less than the same in bulk', (demand) => {
  const single = calculateCapacity({ ...demand, shareBulk: 0, shareCampaigns: 0 });
  expect(isAtLeast(single, calculateCapacity({ ...demand, shareBulk: 1, shareCampaigns: 0 }))).toBe(true);
});

property.prop([demands])('the lower figure of a range is never above the upper one', (demand) => {
  for (const value of Object.values(calculateCapacity(demand)))
    if (typeof value === 'object') expect(value[0]).toBeLessThanOrEqual(value[1]);
});

test('a million SMS a day in bulk, kept for 90 days, take what docs/operating.md says: about 80 GB and 1 GB of log a day', () => {
  const { dataOctets, walOctetsPerDay, coresToHave, setup } = calculateCapacity(MILLION);
  expect(dataOctets[0] / 1e9).toBeCloseTo((1e6 * 90 * (COSTS.bulk.diskOctets[0] + 90)) / 1e9, 5);
  expect(dataOctets[0] / 1e9).toBeGreaterThan(75);
  expect(dataOctets[1] / 1e9).toBeLessThan(95);
  expect(walOctetsPerDay[0] / 1e9).toBeCloseTo(1, 1);
  expect([coresToHave, setup]).toEqual([2, 'one machine']);
});

test('the set-up follows from the cores: one machine, several, and cells', () => {
  const setups = [100, 10_000, 1_000_000].map(
    (peakPerSecond) => calculateCapacity({ ...MILLION, peakPerSecond }).setup,
  );
  expect(setups).toEqual(['one machine', 'one machine', 'cells']);
  const singles = calculateCapacity({ ...MILLION, peakPerSecond: 10_000, shareBulk: 0 });
  expect(singles.setup).toBe('two to five machines');
  expect(singles.gatewayProcesses).toBe(Math.ceil((10_000 * COSTS.single.gatewayMicros[1] * 2) / 1e6));
});

test('nothing needs two cores, one process and no disk for data', () => {
  const none = calculateCapacity({ ...MILLION, perDay: 0, peakPerSecond: 0 });
  expect(none).toMatchObject({ coresToHave: 2, gatewayProcesses: 1, dataOctets: [0, 0], walOctetsPerDay: [0, 0] });
});
