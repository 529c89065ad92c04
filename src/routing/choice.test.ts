import { expect, test } from 'vitest';
import { newId } from '../core/ids.ts';
import { choose, chooseRoute, economicsOf, networkUseOf, planRoutes, reasonOf } from './choice.ts';
import type { Policy } from './policies.ts';
import type { Route } from './routes.ts';
import type { Standing } from './standings.ts';

const NUMBER = '+393331234567';

const POLICY: Policy = {
  id: 1,
  channel: 'SMS',
  prefix: '39',
  policy: 'least-cost',
  minDelivered: 800,
  maxReceiptSeconds: null,
  minSamples: 50,
  explore: 0,
  hours: 3,
};

/** A route over the connection of the same number; lower ids are older. */
const route = (id: number, more: Partial<Route> = {}): Route => ({
  id,
  channel: 'SMS',
  prefix: '39',
  connectionId: id,
  connection: `c${id}`,
  sandbox: false,
  priority: id * 10,
  onUnknown: 'hold',
  weight: null,
  network: null,
  accountId: null,
  sender: null,
  hours: null,
  purpose: null,
  order: id,
  ...more,
});

type World = {
  readonly routes?: readonly Route[];
  readonly policies?: readonly Policy[];
  /** Costs by connection. */
  readonly costs?: Readonly<Record<number, number>>;
  /** By connection: its standing, and how many of a hundred messages it delivers. */
  readonly stands?: Readonly<Record<number, readonly [Standing, number]>>;
};

/** Makes a function that returns the connections of a message, and the reason. */
function market({ routes = [route(1), route(2), route(3)], policies = [POLICY], costs = {}, stands = {} }: World) {
  const rows = Object.entries(stands).map(([id, [standing, delivered]]) => ({
    policyId: 1,
    connectionId: Number(id),
    country: '39',
    standing,
    messages: 100,
    delivered,
    receiptMs: delivered * 4000,
  }));
  const economics = economicsOf(policies, rows, (connectionId) => costs[connectionId] ?? null);
  const plans = planRoutes(routes, economics.mayApply);
  return (key = newId(), destination = NUMBER) => {
    const traffic = { accountId: 7, sender: '', network: null, at: null, key, salt: 0 };
    const asked = { channel: 'SMS', destination, traffic, economics, isRegistered: null } as const;
    const plan = plans.find('SMS', destination);
    const choice = plan && choose(plan, asked);
    return { ids: chooseRoute(plan, asked).connectionIds, reason: choice ? reasonOf(choice) : null };
  };
}

test('the cheapest of those at the floor goes first, then those on trial, then those below, best first', () => {
  const ask = market({
    routes: [1, 2, 3, 4, 5, 6].map((id) => route(id)),
    costs: { 1: 50, 2: 40, 3: 10, 4: 5, 5: 1, 6: 2 },
    stands: { 1: ['good', 95], 2: ['good', 85], 4: ['trial', 0], 5: ['below', 30], 6: ['below', 60] },
  });
  expect(ask().ids).toEqual([2, 1, 4, 3, 6, 5]);
  expect(ask().reason).toBe('route 2: prefix 39, by cost and quality');
});

test('an unknown cost is not taken for a low one, and equal offers keep their priority', () => {
  const stands = { 1: ['good', 90], 2: ['good', 90], 3: ['good', 90] } as const;
  expect(market({ costs: { 3: 70 }, stands })().ids).toEqual([3, 1, 2]);
  expect(market({ costs: { 1: 70, 2: 70, 3: 70 }, stands })().ids).toEqual([1, 2, 3]);
});

test('where nothing is known of any connection, cost alone decides', () => {
  expect(market({ costs: { 1: 3, 2: 1, 3: 2 } })().ids).toEqual([2, 3, 1]);
});

test('of the messages, the share that explores goes first to those on trial or below, evenly, and always the same ones', () => {
  const ask = market({
    policies: [{ ...POLICY, explore: 100 }],
    costs: { 1: 9, 2: 1, 3: 2 },
    stands: { 1: ['good', 95], 2: ['below', 10], 3: ['below', 20] },
  });
  const keys = Array.from({ length: 20_000 }, () => newId());
  const first = keys.map((key) => ask(key).ids[0]);
  const count = (id: number): number => first.filter((each) => each === id).length;
  // Five standard deviations of a tenth and a twentieth of the messages.
  expect(Math.abs(count(2) + count(3) - 2000)).toBeLessThan(212);
  expect(Math.abs(count(2) - 1000)).toBeLessThan(154);
  expect(keys.map((key) => ask(key).ids[0])).toEqual(first);
  const explorer = keys[first.indexOf(3)] ?? '';
  expect(ask(explorer)).toEqual({ ids: [3, 1, 2], reason: 'route 3: prefix 39, to try it' });
});

test('the connection of the very first route gets no more of the messages that explore than the others', () => {
  const ask = market({
    policies: [{ ...POLICY, explore: 100 }],
    costs: { 1: 1, 2: 2, 3: 9 },
    stands: { 1: ['below', 10], 2: ['below', 20], 3: ['good', 95] },
  });
  const first = Array.from({ length: 20_000 }, () => ask().ids[0]);
  // Five standard deviations of a twentieth of the messages.
  for (const id of [1, 2]) expect(Math.abs(first.filter((each) => each === id).length - 1000)).toBeLessThan(154);
});

test('without exploration no message goes first to a connection below the floor while another is good', () => {
  const ask = market({ costs: { 1: 9, 2: 1 }, stands: { 1: ['good', 95], 2: ['below', 10] } });
  expect(new Set(Array.from({ length: 500 }, () => ask().ids[0]))).toEqual(new Set([1]));
});

test('a policy by priority for a longer prefix leaves its numbers as they are, and other countries are not touched', () => {
  const routes = [route(1, { prefix: '' }), route(2, { prefix: '' })];
  const policies = [POLICY, { ...POLICY, id: 2, prefix: '39333', policy: 'priority' as const }];
  const ask = market({ routes, policies, costs: { 1: 9, 2: 1 } });
  expect(ask(newId(), '+393401234567').ids).toEqual([2, 1]);
  expect(ask(newId(), '+393331234567').ids).toEqual([1, 2]);
  expect(ask(newId(), '+33612345678').ids).toEqual([1, 2]);
});

test('cost never brings the sandbox into the way of a real carrier', () => {
  const routes = [route(1), route(2, { sandbox: true })];
  expect(market({ routes, costs: { 1: 9, 2: 0 } })().ids).toEqual([1]);
  expect(market({ routes: [route(1, { sandbox: true }), route(2)], costs: { 1: 9, 2: 0 } })().ids).toEqual([1]);
});

test('a prefix without a policy, conditions and weights has one way for all, which is made once', () => {
  const economics = economicsOf([{ ...POLICY, prefix: '44' }], [], () => null);
  expect(planRoutes([route(1)], economics.mayApply).find('SMS', NUMBER)?.chosen).toMatchObject({ connectionIds: [1] });
  expect(planRoutes([route(1, { prefix: '4' })], economics.mayApply).find('SMS', '+41')?.chosen).toBeNull();
});

type Uses = {
  /** Ordered as in `listRoutes`: longest prefix first. */
  readonly routes: readonly Route[];
  readonly policies?: readonly Policy[];
  /** The connections whose costs name networks of Italy. */
  readonly byNetwork?: readonly number[];
};

function useOf({ routes, policies = [], byNetwork = [] }: Uses, destination = NUMBER, accountId = 7) {
  const economics = economicsOf(policies, [], () => null);
  const plan = planRoutes(routes, economics.mayApply).find('SMS', destination);
  const dependsOnNetwork = (connectionId: number, number: string): boolean =>
    byNetwork.includes(connectionId) && number.startsWith('+39');
  return networkUseOf(plan, { accountId, destination }, { economics, dependsOnNetwork });
}

test('a route that names a network of the country of the number needs it, also as the fallback of a shorter prefix', () => {
  const named = route(1, { prefix: '', network: '22201' });
  expect(useOf({ routes: [named] })).toBe('choice');
  expect(useOf({ routes: [named] }, '+491711234567')).toBeNull();
  expect(useOf({ routes: [route(2, { sender: 'ACME' }), named] })).toBe('choice');
  expect(useOf({ routes: [route(2), named] })).toBeNull();
});

test('a route of another account is no reason', () => {
  const routes = [route(1, { network: '22201', accountId: 8 }), route(2)];
  expect(useOf({ routes })).toBeNull();
  expect(useOf({ routes }, NUMBER, 8)).toBe('choice');
});

test('a cost by network decides where cost orders several connections, and only counts elsewhere', () => {
  const routes = [route(1), route(2)];
  expect(useOf({ routes, byNetwork: [2], policies: [POLICY] })).toBe('choice');
  expect(useOf({ routes, byNetwork: [2] })).toBe('cost');
  expect(useOf({ routes: [route(2)], byNetwork: [2], policies: [POLICY] })).toBe('cost');
  expect(useOf({ routes, byNetwork: [3], policies: [POLICY] })).toBeNull();
  expect(useOf({ routes: [], byNetwork: [2] })).toBeNull();
});
