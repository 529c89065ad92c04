import { expect, test } from 'vitest';
import { economicsOf, networkUseOf, planRoutes } from './choice.ts';
import type { Policy } from './policies.ts';
import type { Route } from './routes.ts';

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

/** A route over the connection of the same number. */
const route = (id: number, more: Partial<Route> = {}): Route => ({
  id,
  channel: 'SMS',
  prefix: '39',
  connectionId: id,
  connection: `c${id}`,
  sandbox: false,
  priority: 100,
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
  /** Ordered as in `listRoutes`: longest prefix first. */
  readonly routes: readonly Route[];
  readonly policies?: readonly Policy[];
  /** The connections whose costs name networks of Italy. */
  readonly byNetwork?: readonly number[];
};

function useOf({ routes, policies = [], byNetwork = [] }: World, destination = '+393331234567', accountId = 7) {
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
  expect(useOf({ routes }, '+393331234567', 8)).toBe('choice');
});

test('a cost by network decides where cost orders several connections, and only counts elsewhere', () => {
  const routes = [route(1), route(2)];
  expect(useOf({ routes, byNetwork: [2], policies: [POLICY] })).toBe('choice');
  expect(useOf({ routes, byNetwork: [2] })).toBe('cost');
  expect(useOf({ routes: [route(2)], byNetwork: [2], policies: [POLICY] })).toBe('cost');
  expect(useOf({ routes, byNetwork: [3], policies: [POLICY] })).toBeNull();
  expect(useOf({ routes: [], byNetwork: [2] })).toBeNull();
});
