import { expect, test } from 'vitest';
import { CHANNELS } from '../core/channels.ts';
import { createRateLimiter } from '../core/limits.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import {
  type AccountGate,
  countRequest,
  limitOfKeys,
  limitOfSessions,
  rateOf,
  refuseAtGate,
  refuseOutsidePlan,
} from './accounts.ts';

const gate = (more: Partial<AccountGate> = {}): AccountGate => ({
  accountId: 1,
  accountStatus: 'active',
  away: false,
  plan: 'production',
  channels: 7,
  ratePerMinute: null,
  ratePerSecond: null,
  allowList: null,
  hasOptOuts: false,
  defaultPurpose: null,
  respectsCalendar: false,
  weeklyCap: null,
  ...DEFAULT_NUMBER_RULES,
  ...more,
});

test('the rate of a plan holds until an operator sets another; zero and the plan `unlimited` mean none', () => {
  expect(rateOf(gate())).toEqual({ perMinute: 1000, perSecond: 50 });
  expect(rateOf(gate({ plan: 'trial' }))).toEqual({ perMinute: 100, perSecond: 10 });
  expect(rateOf(gate({ plan: 'unlimited' }))).toBeNull();
  expect(rateOf(gate({ ratePerMinute: 0 }))).toBeNull();
  expect(rateOf(gate({ ratePerMinute: 70, ratePerSecond: 3 }))).toEqual({ perMinute: 70, perSecond: 3 });
});

test('a rate per minute alone allows a twentieth of it per second, rounded up', () => {
  expect(rateOf(gate({ ratePerMinute: 41 }))).toEqual({ perMinute: 41, perSecond: 3 });
});

test('all keys of an account together make as many requests as two at their limit, all sessions as two or ten', () => {
  expect(limitOfKeys(gate())).toEqual({ name: 'A1', rate: { perMinute: 2000, perSecond: 100 } });
  expect(limitOfKeys(gate({ plan: 'trial' })).rate).toEqual({ perMinute: 200, perSecond: 20 });
  expect(limitOfKeys(gate({ ratePerMinute: 70, ratePerSecond: 3 })).rate).toEqual({ perMinute: 140, perSecond: 6 });
  expect(limitOfSessions(gate()).rate).toEqual({ perMinute: 12_000, perSecond: 600 });
  expect(limitOfSessions(gate({ plan: 'trial' }))).toEqual({ name: 'S1', rate: { perMinute: 2400, perSecond: 120 } });
  for (const without of [gate({ plan: 'unlimited' }), gate({ ratePerMinute: 0 })])
    expect([limitOfKeys(without).rate, limitOfSessions(without).rate]).toEqual([null, null]);
});

test('what the shared limit refuses is counted nowhere, and shows the headers of that limit', () => {
  const limiter = createRateLimiter({ now: () => 0 });
  const own = (name: string) => ({ name, rate: { perMinute: 10, perSecond: 10 } });
  const shared = { name: 'all', rate: { perMinute: 1, perSecond: 1 } };
  expect(countRequest(limiter, own('one'), shared)).toMatchObject({ 'x-ratelimit-remaining': '9' });
  expect(() => countRequest(limiter, own('two'), shared)).toThrow(
    expect.objectContaining({
      code: 'rate_limited',
      retryAfterSeconds: 60,
      headers: { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
    }),
  );
  expect(countRequest(limiter, own('two'))).toMatchObject({ 'x-ratelimit-remaining': '9' });
});

test('a suspended account is refused everywhere, and an address that is not on the list', () => {
  const ask = (more: Partial<AccountGate>, address: string) => () => refuseAtGate(gate(more), address);
  const allowList = ['198.51.100.0/24'];
  expect(ask({ allowList }, '198.51.100.7')).not.toThrow();
  expect(ask({ allowList }, '203.0.113.7')).toThrow("not on the account's allow-list");
  expect(ask({ allowList: [] }, '198.51.100.7')).toThrow("not on the account's allow-list");
  expect(ask({ accountStatus: 'suspended' }, '198.51.100.7')).toThrow('The account is suspended');
});

test('a channel outside the plan is refused', () => {
  const channels = new Set(CHANNELS.filter((channel) => channel !== 'RCS'));
  expect(() => refuseOutsidePlan({ channels }, ['SMS'])).not.toThrow();
  expect(() => refuseOutsidePlan({ channels }, ['SMS', 'RCS'])).toThrow('RCS');
});

test('an account that is in another cell is asked to try again, although it is suspended', () => {
  const away = gate({ away: true, accountStatus: 'suspended' });
  expect(() => refuseAtGate(away, '192.0.2.1')).toThrow(expect.objectContaining({ status: 503, retryAfterSeconds: 1 }));
});
