import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { newId } from '../core/ids.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({ carriers: { main: { script: { cutAfter: 1, receipts: 'none' } } } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

test('unknown outcomes are listed with masked numbers and settled once; for others the response gives the reason', async () => {
  const { client, smsc } = program;
  const { messageId } = await client.send({ phoneNumber: '+393331238001', message: 'Hello', senderName: 'Acme' });
  const id = messageId ?? '';
  await until('the cut', () => smsc.ledger.counts().submits >= 1);
  smsc.script.cutAfter = 0;
  await client.untilStatus(id, 'UNKNOWN');
  const { accountId } = program.account;
  expect(await operator.ask('GET', `/unknowns?accountId=${accountId}&connection=main`)).toMatchObject({
    total: 1,
    data: [{ messageId: id, accountId, account: 'Acme', connection: 'main', destination: '39333*****01', parts: 1 }],
  });
  expect(await operator.ask('GET', `/unknowns?accountId=${operator.accountId}`)).toMatchObject({ total: 0 });

  const other = newId();
  const body = { messageIds: [id, other, id], as: 'delivered' };
  const [settled, again] = [
    await operator.ask('POST', '/unknowns/settle', body),
    await operator.ask('POST', '/unknowns/settle', body),
  ];
  expect(settled).toEqual({
    settled: 1,
    results: [
      { messageId: id, settled: true, message: null },
      { messageId: other, settled: false, message: `There is no open unknown outcome ${other}` },
    ],
  });
  expect(again).toMatchObject({ settled: 0 });
  expect((await client.status(id)).deliveryStatus).toBe('DELIVERED');
  expect(await operator.ask('GET', '/unknowns')).toMatchObject({ total: 0, data: [] });
  expect(await operator.ask('GET', `/audit?accountId=${accountId}&action=message.settle`)).toMatchObject({
    data: [{ actor: { kind: 'operator', username: operator.username }, detail: { as: 'delivered' } }],
  });
});
