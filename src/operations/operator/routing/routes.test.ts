import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../../../test/support/program.ts';
import { until } from '../../../../test/support/until.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({ carriers: { main: {}, other: { prefix: '44' } } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Route = { id: number; prefix: string; connection: string; order: number; priority: number };
const add = (body: object): Promise<Route> => operator.ask('POST', '/routes', { channel: 'SMS', ...body });
const check = async (number: string): Promise<string[]> =>
  (await operator.ask<{ data: Route[] }>('GET', `/routes/check?number=${number}`)).data.map((r) => r.connection);

test('a route is added, changed by adding it again, listed in order, and deleted', async () => {
  const first = await add({ prefix: '33', connection: 'main' });
  expect(first).toMatchObject({ prefix: '33', connection: 'main', priority: 100, order: 1, onUnknown: 'hold' });
  await add({ prefix: '33', connection: 'other', priority: 50, onUnknown: 'resubmit' });
  expect(await check('%2B33612345678')).toEqual(['other', 'main']);
  expect(await add({ prefix: '33', connection: 'main', priority: 10 })).toMatchObject({ id: first.id, order: 1 });
  expect(await check('+33612345678')).toEqual(['main', 'other']);
  expect(await operator.ask('GET', '/routes?connection=other')).toMatchObject({
    total: 2,
    data: [{ prefix: '33', order: 2, onUnknown: 'resubmit' }, { prefix: '44' }],
  });
  expect((await operator.request('DELETE', `/routes/${first.id}`)).status).toBe(204);
  expect(await operator.ask('GET', '/audit?action=route.remove')).toMatchObject({
    total: 1,
    data: [
      {
        subject: `route:${first.id}`,
        detail: { channel: 'SMS', prefix: '33', connection: 'main', priority: 10, onUnknown: 'hold' },
      },
    ],
  });
  expect(await check('33612345678')).toEqual(['other']);
  expect(await check('447700900000')).toEqual(['other']);
  expect(await check('15551234567')).toEqual(['main']);
});

test('messages follow a new route at once, and the audit log of the gateway names who added it', async () => {
  await add({ prefix: '39366', connection: 'other' });
  await until('a message over the other carrier', async () => {
    const { messageId } = await program.client.send({ phoneNumber: '+393661234567', message: 'Hello' });
    await program.client.untilStatus(messageId ?? '', 'DELIVERED');
    return program.carrier('other').ledger.counts().submits > 0;
  });
  expect(await operator.ask('GET', '/audit?action=route.add&limit=1')).toMatchObject({
    data: [{ actor: { kind: 'operator', username: operator.username }, detail: { prefix: '39366' } }],
  });
});
