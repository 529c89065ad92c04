import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { insertConnection } from '../../network/connections/sql.ts';
import { insertCosts } from '../../network/costs/sql.ts';
import { insertRoute } from '../../network/routing/sql.ts';
import { exec, sql } from '../../platform/db/query.ts';
import { insertPrice } from '../pricing/sql.ts';
import { describeUnderCost, findUnderCost, listUnderCost } from './find.ts';

const { pool } = testDatabase();

const route = (id: number, prefix: string, connectionId = 1) => ({
  id,
  channel: 'SMS' as const,
  prefix,
  connection: `c${connectionId}`,
  connectionId,
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
