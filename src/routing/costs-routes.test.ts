import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Cost = { id: number; connection: string; prefix: string; network: string | null; price: number };
const set = (body: object): Promise<Cost> => operator.ask('PUT', '/costs', { connection: 'main', ...body });
const listed = async (query: string): Promise<string[]> =>
  (await operator.ask<{ data: Cost[] }>('GET', `/costs?${query}`)).data.map(
    ({ prefix, network, price }) => `${prefix} ${network ?? '-'} ${price}`,
  );

test('a cost is set, changed under the same id, listed and deleted', async () => {
  const first = await set({ prefix: '44', price: 0.0123 });
  expect(first).toMatchObject({ connection: 'main', prefix: '44', network: null, price: 0.0123 });
  expect(await set({ prefix: '44', price: 0.02 })).toEqual({ ...first, price: 0.02 });
  const ofNetwork = await set({ prefix: '44', network: '23410', price: 0.01 });
  expect(ofNetwork.id).not.toBe(first.id);
  await set({ prefix: '1', price: 0.005 });
  expect(await listed('prefix=44')).toEqual(['44 - 0.02', '44 23410 0.01']);
  expect(await operator.ask('GET', '/costs?connection=main&prefix=44&limit=1&page=1')).toMatchObject({
    total: 2,
    data: [{ network: '23410' }],
  });
  expect((await operator.request('DELETE', `/costs/${first.id}`)).status).toBe(204);
  expect((await operator.request('DELETE', `/costs/${first.id}`)).status).toBe(404);
  expect(await listed('prefix=44')).toEqual(['44 23410 0.01']);
});

test('costs of unknown connections and invalid networks are refused with the field', async () => {
  expect(await operator.request('PUT', '/costs', { connection: 'none', prefix: '44', price: 1 })).toMatchObject({
    status: 404,
  });
  const bad = { connection: 'main', prefix: '44', network: '234', price: 1 };
  expect(await operator.request('PUT', '/costs', bad)).toMatchObject({
    status: 400,
    body: { details: [{ field: 'network' }] },
  });
});

test('a price list is imported whole or not at all', async () => {
  const send = (csv: string) => operator.request('POST', '/costs/import', { connection: 'main', csv, replace: true });
  expect(await send('prefix,price\n39,0.01\n39,free\n')).toMatchObject({
    status: 400,
    body: { details: [{ field: 'line 3' }] },
  });
  expect(await listed('prefix=39')).toEqual([]);
  expect(await send('prefix,price\n39,0.01\n44,0.02\n')).toMatchObject({ status: 200, body: { set: 2 } });
  expect(await listed('connection=main')).toEqual(['39 - 0.01', '44 - 0.02']);
});
