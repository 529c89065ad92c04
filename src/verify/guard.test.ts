import { expect, test } from 'vitest';
import { type Attempt, type Counts, decide, type Kind, type Range, type Signals, wilson } from './guard.ts';
import type { Db } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { blockOf } from './gate.ts';
import { replay } from './replay.ts';
import { challengeProof, challengeToken, isChallengePassed } from './secrets.ts';

const at = new Date('2027-01-15T09:30:00Z');
const attempt = (more: Partial<Attempt> = {}): Attempt => ({
  at,
  number: '+99244012345',
  country: 'TJ',
  lineType: null,
  network: null,
  address: '203.0.113.0/24',
  userRef: null,
  device: null,
  serviceId: null,
  micros: 50_000,
  challengePassed: false,
  ...more,
});
const NOTHING = { sent: 0, approved: 0 };
const counts = (more: Partial<Counts> = {}): Counts => ({
  ten: 0,
  hour: 0,
  tenApproved: 0,
  known: { ten: NOTHING, hour: NOTHING, day: NOTHING },
  delivered: 0,
  failed: 0,
  hourMicros: 0,
  dayMicros: 0,
  ...more,
});
const signals = (of: Partial<Record<Kind, Counts>> = {}, ranges: readonly Range[] = []): Signals => ({
  of: (kind) => of[kind],
  ranges: new Map(ranges.map((range) => [range.prefix, range])),
  baseline: { conversion: 0.8, perHour: 100, delivered: 0.9, source: 'country' },
});
const bad = counts({ known: { ten: NOTHING, hour: { sent: 20, approved: 0 }, day: NOTHING } });

test('the bounds of Wilson contain the share, and narrow with the number of sends', () => {
  expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
  expect(wilson(0, 10).high).toBeCloseTo(0.2775, 3);
  expect(wilson(50, 100).low).toBeCloseTo(0.4038, 3);
  expect(wilson(50, 100).high).toBeCloseTo(0.5962, 3);
});

test('a range whose codes nobody enters is paused, with the figures as reasons', () => {
  expect(decide(attempt(), {}, signals({ range4: bad }))).toMatchObject({
    outcome: 'BLOCK',
    rule: 'range_conversion',
    pause: { prefix: '+9924401', level: 1, minutes: 15 },
    reasons: [{ rule: 'range_conversion', prefix: '+9924401', value: 0, limit: 0.2, window: '1h' }],
  });
});

test('fewer than ten sends are no evidence', () => {
  const few = counts({ known: { ten: { sent: 9, approved: 0 }, hour: NOTHING, day: NOTHING } });
  expect(decide(attempt(), {}, signals({ range4: few })).outcome).toBe('ALLOW');
});

test('in the outage of a carrier a low conversion stops nobody, unless only the own range fails', () => {
  const known = { ten: { sent: 100, approved: 0 }, hour: NOTHING, day: NOTHING };
  const failing = { range4: bad, country: counts({ known, failed: 60 }) };
  expect(decide(attempt(), {}, signals(failing))).toMatchObject({
    outcome: 'ALLOW',
    reasons: [{ rule: 'carrier_outage', value: 0.6 }],
  });
  const own = counts({ known, failed: 100 });
  expect(decide(attempt(), {}, signals({ range4: own, country: own })).rule).toBe('range_conversion');
});

test('velocity is a challenge at most, passed once, and none where codes are entered as usual', () => {
  const fast = counts({ ten: 50 });
  expect(decide(attempt(), {}, signals({ address: fast }))).toMatchObject({
    outcome: 'CHALLENGE',
    rule: 'address_velocity',
  });
  expect(decide(attempt({ challengePassed: true }), {}, signals({ address: fast })).outcome).toBe('ALLOW');
  expect(decide(attempt(), { challenge: false }, signals({ address: fast })).outcome).toBe('BLOCK');
  const entered = counts({ ten: 50, tenApproved: 30 });
  expect(decide(attempt(), {}, signals({ address: entered })).outcome).toBe('ALLOW');
});

test('the first rule decides: safe list, country, line type, velocity, range, cost; all are reasons', () => {
  const of = { address: counts({ ten: 50 }), range4: bad, service: counts({ hourMicros: 19_990_000 }) };
  const settings = { countries: { block: ['TJ'] }, maxCostPerHour: 20 };
  const odd = attempt({ lineType: 'PREMIUM' });
  const { rule, reasons } = decide(odd, settings, signals(of));
  expect([rule, reasons.map((reason) => reason.rule)]).toEqual([
    'country',
    ['country', 'line_type', 'address_velocity', 'range_conversion', 'cost_cap'],
  ]);
  expect(decide(odd, { ...settings, safeList: [odd.number] }, signals(of)).outcome).toBe('ALLOW');
});

test('a cost cap counts the send itself, and holds although everything else is missing', () => {
  const spent = { service: counts({ dayMicros: 99_960_000 }) };
  expect(decide(attempt({ address: null }), { maxCostPerDay: 100 }, signals(spent))).toMatchObject({
    outcome: 'BLOCK',
    rule: 'cost_cap',
    reasons: [{ rule: 'cost_cap', value: 99.96, limit: 100, window: '24h' }, { rule: 'no_address' }],
  });
});

test('a paused range lets a probe pass after an hour, or after twenty sends and ten minutes', () => {
  const paused = (since: number, stopped: number): Range => ({
    prefix: '+9924401',
    state: 'PAUSED',
    level: 1,
    since: new Date(at.getTime() - since * 60_000),
    until: new Date(at.getTime() + 60_000),
    probes: [],
    stopped,
  });
  const decided = (range: Range) => decide(attempt(), {}, signals({}, [range]));
  expect(decided(paused(14, 18))).toMatchObject({ outcome: 'BLOCK', rule: 'range_paused' });
  expect(decided(paused(9, 50)).outcome).toBe('BLOCK');
  expect(decided(paused(14, 19))).toMatchObject({ outcome: 'ALLOW', probe: '+9924401' });
  expect(decided(paused(60, 0))).toMatchObject({ outcome: 'ALLOW', probe: '+9924401' });
  expect(decided({ ...paused(60, 0), state: 'BLOCKED' }).rule).toBe('range_blocked');
});

test('addresses count by the network of a client', () => {
  expect([blockOf('203.0.113.77'), blockOf('2001:db8:1:2:3::4'), blockOf('no'), blockOf(undefined)]).toEqual([
    '203.0.113.0/24',
    '2001:db8:1:2::/64',
    null,
    null,
  ]);
});

test('a challenge is passed for its number only, within ten minutes, and not without the secret', () => {
  const secret = Buffer.alloc(32, 3);
  const token = challengeToken(secret, '+393331234567', at);
  const passed = `${token}:${challengeProof(secret, token)}`;
  const later = (minutes: number) => new Date(at.getTime() + minutes * 60_000);
  expect(isChallengePassed(secret, '+393331234567', passed, later(10))).toBe(true);
  expect(isChallengePassed(secret, '+393331234567', passed, later(11))).toBe(false);
  expect(isChallengePassed(secret, '+393331234568', passed, at)).toBe(false);
  expect(isChallengePassed(Buffer.alloc(32, 4), '+393331234567', passed, at)).toBe(false);
  for (const odd of ['', ':', token, `${token}:`, `x${passed}`, `${passed}0`])
    expect(isChallengePassed(secret, '+393331234567', odd, at)).toBe(false);
});

test('a replay of many sends shares the event loop with requests', async () => {
  const past = Array.from({ length: 1500 }, (_, n) => ({
    id: firstIdAt(new Date(at.getTime() + n * 1000)),
    serviceId: null,
    number: `+39333${1_000_000 + n}`,
    country: 'IT',
    outcome: 'ALLOW',
    enforced: true,
    micros: 50_000,
    address: '203.0.113.0/24',
    userRef: null,
    device: null,
    approved: false,
  }));
  const db = { query: () => Promise.resolve({ rows: past, rowCount: past.length }) } as unknown as Db;
  const baselines = { of: () => Promise.resolve(signals().baseline) };
  let turns = 0;
  const isOver = replay(db, { accountId: 1, serviceId: null, from: at, to: at }, { guard: {}, baselines });
  const turn = (): void => {
    turns++;
    ticking = setImmediate(turn);
  };
  let ticking = setImmediate(turn);
  expect(await isOver.finally(() => clearImmediate(ticking))).toMatchObject({ sends: 1500 });
  expect(turns).toBeGreaterThan(5);
});
