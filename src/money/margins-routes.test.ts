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

type Margins = { total: { messages: number; margin: number }; data: { name: string; messages: number }[] };
const margins = (by: string, more = '') => operator.ask<Margins>('GET', `/margins?by=${by}${more}`);

test('what messages earn and cost is shown by account, country and connection as soon as they are sent', async () => {
  await operator.ask('PUT', '/prices', { channel: 'SMS', prefix: '39', price: 0.05 });
  await operator.ask('PUT', '/costs', { connection: 'main', prefix: '39', price: 0.02 });
  const { total } = await until('a margin', async () => {
    const { messageId } = await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
    await program.client.untilStatus(messageId ?? '', 'DELIVERED');
    const seen = await margins('account');
    return seen.total.messages > 0 && seen;
  });
  expect(total).toMatchObject({ uncosted: 0, margin: Number((total.messages * 0.03).toFixed(6)) });
  const names = async (by: string) => (await margins(by)).data.map(({ name }) => name);
  expect([await names('account'), await names('country'), await names('connection')]).toEqual([
    ['Acme'],
    ['39'],
    ['main'],
  ]);
});

test('other days have other margins', async () => {
  expect(await margins('account', '&from=2020-01-01&to=2020-01-31')).toMatchObject({
    total: { messages: 0 },
    data: [],
  });
  expect(await operator.request('GET', '/margins?by=account&from=2020-02-01&to=2020-01-01')).toMatchObject({
    status: 400,
    body: { details: [{ field: 'from' }] },
  });
});

test('a route that sells under cost is listed, and needs attention', async () => {
  const listed = () => operator.ask<{ data: object[] }>('GET', '/margins/under-cost');
  expect(await listed()).toEqual({ data: [] });
  await operator.ask('PUT', '/costs', { connection: 'main', prefix: '39', network: '22201', price: 0.06 });
  expect((await listed()).data).toMatchObject([
    { connection: 'main', prefix: '39', network: '22201', price: 0.05, cost: 0.06 },
  ]);
  expect(await operator.ask('GET', '/overview')).toMatchObject({
    attention: [{ kind: 'sold_under_cost', severity: 'warning', subject: 'main', count: 1 }],
    margin: { uncosted: 0 },
  });
});
