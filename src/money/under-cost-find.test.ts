import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertCosts } from '../routing/costs.ts';
import { insertRoute, type Route } from '../routing/routes.ts';
import { insertPrice } from './prices.ts';
import { describeUnderCost, findUnderCost, listUnderCost } from './under-cost.ts';

const { pool } = testDatabase();

type Given = Partial<Pick<Route, 'network' | 'accountId' | 'sender' | 'hours' | 'weight'>>;
const route = (id: number, prefix: string, connectionId = 1, more: Given = {}) => ({
  id,
  channel: 'SMS' as const,
  prefix,
  connection: `c${connectionId}`,
  connectionId,
  network: null,
  accountId: null,
  sender: null,
  hours: null,
  purpose: null,
  weight: null,
  ...more,
});
const price = (prefix: string, unitMicros: number) => ({ channel: 'SMS' as const, prefix, unitMicros });
const cost = (prefix: string, unitMicros: number, network: string | null = null, connectionId = 1) => ({
  connectionId,
  prefix,
  network,
  unitMicros,
});
const find = (
  routes: ReturnType<typeof route>[],
  prices: ReturnType<typeof price>[],
  costs: ReturnType<typeof cost>[],
) =>
  findUnderCost({ routes, prices, costs }).map(
    ({ routeId, prefix, network, priceMicros, costMicros }) =>
      `${routeId}: ${prefix} ${network ?? '-'} ${priceMicros}<${costMicros}`,
  );

test('a route sells under cost where the price of some of its numbers is below their cost', () => {
  expect(find([route(1, '')], [price('', 30)], [cost('', 30)])).toEqual([]);
  expect(find([route(1, '')], [price('', 29)], [cost('', 30)])).toEqual(['1:  - 29<30']);
  expect(find([route(1, '')], [price('', 30)], [cost('', 10), cost('39', 40)])).toEqual(['1: 39 - 30<40']);
  expect(find([route(1, '')], [price('', 30), price('39', 5)], [cost('', 10)])).toEqual(['1: 39 - 5<10']);
});

test('costs of networks count, and the largest loss is named', () => {
  const costs = [cost('39', 20), cost('39', 50, '22201'), cost('39', 40, '22210')];
  expect(find([route(1, '39')], [price('', 30)], costs)).toEqual(['1: 39 22201 30<50']);
});

test('numbers that a longer route takes are not those of the shorter one', () => {
  const costs = [cost('', 10), cost('39', 40), cost('39', 5, null, 2)];
  expect(find([route(1, ''), route(2, '39', 2)], [price('', 30)], costs)).toEqual([]);
});

test('a longer route with conditions leaves numbers to the shorter one, and is named with them', () => {
  const costs = [cost('', 10), cost('39', 40), cost('39', 35, null, 2)];
  const routes = [route(1, ''), route(2, '39', 2, { accountId: 7, weight: 70 })];
  expect(find(routes, [price('', 30)], costs)).toEqual(['1: 39 - 30<40', '2: 39 - 30<35']);
  const [, second] = findUnderCost({ routes, prices: [price('', 30)], costs });
  expect(second?.conditions).toBe('account 7, weight 70');
  expect(second && describeUnderCost(second)).toMatch(/^\+39 over c2 \(account 7, weight 70\): /);
});

test('a route of one network is compared with the cost of that network, or with the cost of all', () => {
  const costs = [cost('39', 50, '22201'), cost('39', 20)];
  const ofNetwork = (network: string) => [route(1, '', 1, { network })];
  expect(find(ofNetwork('22201'), [price('', 30)], costs)).toEqual(['1: 39 22201 30<50']);
  expect(find(ofNetwork('22210'), [price('', 30)], costs)).toEqual([]);
  expect(find(ofNetwork('22210'), [price('', 10)], costs)).toEqual(['1: 39 22210 10<20']);
});

test('a cost by network alone is compared with the price of its country, not with that of others', () => {
  const costs = [cost('', 41, '22201')];
  expect(find([route(1, '')], [price('', 30), price('39', 60)], costs)).toEqual([]);
  expect(find([route(1, '')], [price('', 30)], costs)).toEqual(['1: 39 22201 30<41']);
});

test('price lists of carriers with many thousand lines take a moment, because no line is compared with each other', () => {
  const costs = Array.from({ length: 40_000 }, (_, n) => cost(`39${n}`, 40));
  const began = process.cpuUsage();
  expect(find([route(1, ''), route(2, '39')], [price('', 30)], costs)).toHaveLength(1);
  // CPU time, which a busy machine hardly increases: 0.4 s, against nearly a minute for each with each.
  expect(process.cpuUsage(began).user / 1_000_000).toBeLessThan(4);
});

test('a route without costs or without a price is not compared', () => {
  expect(find([route(1, '39')], [price('39', 30)], [cost('', 99, null, 2)])).toEqual([]);
  expect(find([route(1, '39')], [price('44', 30)], [cost('', 99)])).toEqual([]);
});

test('the routes of an installation are compared with its lists, and the loss is said in a sentence', async () => {
  expect(await listUnderCost(pool)).toEqual([]);
  const made = await insertConnection(pool, { name: 'acme', kind: 'smpp', sandbox: false, settings: {} });
  const connectionId = made?.id ?? 0;
  await exec(pool, sql`DELETE FROM price`);
  await insertPrice(pool, { channel: 'SMS', prefix: '39', unitMicros: 30_000, refundUndelivered: false });
  await insertRoute(pool, { channel: 'SMS', prefix: '39', connectionId, priority: 1 });
  await insertCosts(pool, { costs: [{ connectionId, prefix: '', network: '22201', unitMicros: 41_000 }] });
  expect((await listUnderCost(pool)).map(describeUnderCost)).toEqual([
    '+39 over acme: +39 in network 22201 sell for 0.03 and cost 0.041',
  ]);
});
