import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Price = { id: number; channel: string; prefix: string; price: number; refundUndelivered: boolean };
const set = (body: object): Promise<Price> => operator.ask('PUT', '/prices', body);

test('a price is set, changed under the same id, listed and deleted', async () => {
  const first = await set({ channel: 'RCS', prefix: '44', price: 0.035 });
  expect(first).toMatchObject({ channel: 'RCS', prefix: '44', price: 0.035, refundUndelivered: false });
  expect(await set({ channel: 'RCS', prefix: '44', price: 0.04, refundUndelivered: true })).toEqual({
    ...first,
    price: 0.04,
    refundUndelivered: true,
  });
  await set({ channel: 'RCS', prefix: '447', price: 0.05 });
  await set({ channel: 'RCS', prefix: '1', price: 0.01 });
  const prefixes = async (query: string): Promise<string[]> =>
    (await operator.ask<{ data: Price[] }>('GET', `/prices?channel=RCS&${query}`)).data.map(({ prefix }) => prefix);
  expect(await prefixes('prefix=44')).toEqual(['44', '447']);
  expect(await operator.ask('GET', '/prices?channel=RCS&prefix=44&limit=1&page=1')).toMatchObject({
    total: 2,
    data: [{ prefix: '447' }],
  });
  expect((await operator.request('DELETE', `/prices/${first.id}`)).status).toBe(204);
  expect(await prefixes('prefix=44')).toEqual(['447']);
});

test('the longest prefix decides the price of a number, which is null where there is none', async () => {
  await set({ channel: 'WHATSAPP', prefix: '39', price: 0.06 });
  await set({ channel: 'WHATSAPP', prefix: '39333', price: 0.07 });
  const check = (number: string) => operator.ask('GET', `/prices/check?channel=WHATSAPP&number=${number}`);
  expect(await check('%2B393331234567')).toMatchObject({ price: { prefix: '39333', price: 0.07 } });
  expect(await check('+390612345678')).toMatchObject({ price: { prefix: '39' } });
  for (const { id } of (await operator.ask<{ data: Price[] }>('GET', '/prices?channel=WHATSAPP&limit=100')).data)
    await operator.ask('DELETE', `/prices/${id}`);
  expect(await check('390612345678')).toEqual({ price: null });
});

test('the explanation names the price of a message, why it counts, and those that it goes before', async () => {
  const { accountId } = program.account;
  await set({ channel: 'WHATSAPP', prefix: '', price: 0.06 });
  await set({ channel: 'WHATSAPP', prefix: '39', price: 0.05, category: 'marketing' });
  await set({
    channel: 'WHATSAPP',
    prefix: '39',
    price: 0.08,
    category: 'marketing',
    validFrom: '2027-01-01T00:00:00Z',
  });
  await set({ channel: 'WHATSAPP', prefix: '', price: 0.04, accountId, category: 'marketing' });
  const explain = (query: string) =>
    operator.ask<{ price: Price; reasons: string[]; passedOver: Price[] }>(
      'GET',
      `/prices/explain?channel=WHATSAPP&number=39333123456&category=marketing&${query}`,
    );
  expect(await explain(`accountId=${accountId}`)).toMatchObject({
    price: { accountId, category: 'marketing', window: '*', price: 0.04, validFrom: null, currency: 'EUR' },
    total: 0.04,
    passedOver: [{ price: 0.05 }, { price: 0.06 }],
  });
  expect(await explain('at=2027-02-01T00:00:00Z')).toMatchObject({
    price: { price: 0.08, validFrom: '2027-01-01T00:00:00.000Z' },
    reasons: [
      'No price of the account itself applies',
      '39 is the longest prefix that fits the number',
      'It is for the category marketing',
      'No price there is for its window alone',
      'It is the newest, valid from 2027-01-01T00:00:00.000Z',
    ],
  });
  expect(await operator.ask('GET', '/prices/explain?channel=RCS&number=999')).toMatchObject({
    price: { channel: 'RCS' },
  });
});

test('the running program charges a new price at once, and the audit log of the gateway names who set it', async () => {
  await set({ channel: 'SMS', prefix: '39347', price: 0.123 });
  await until('the new price', async () => {
    const { messageId } = await program.client.send({ phoneNumber: '+393471234567', message: 'Hello' });
    const { body } = await program.client.request('GET', `/api/partner-gateway/v1/messages/${messageId}/timeline`);
    return JSON.stringify(body).includes('0.123');
  });
  expect(await operator.ask('GET', '/audit?action=price.set&limit=1')).toMatchObject({
    data: [
      {
        actor: { kind: 'operator', username: operator.username, userId: null },
        subject: 'price:SMS/39347',
        detail: { price: 0.123, refundUndelivered: false },
      },
    ],
  });
});
