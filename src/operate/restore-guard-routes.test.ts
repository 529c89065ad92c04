import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { many, sql } from '../core/db/query.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

const send = async (digit: number): Promise<string> => {
  const { messageId } = await program.client.send({ phoneNumber: `+39333000000${digit}`, message: 'Hello' });
  return messageId ?? '';
};
/** Waits until the worker has noticed the pause and claims nothing. */
const untilPaused = () =>
  until('the pause', async () => {
    const id = await send(9);
    const [row] = await many(program.pool, sql`SELECT FROM message_state WHERE id = ${id}`);
    return row === undefined;
  });

test('nothing is sent while an operator has paused sending, and queued messages are sent when it resumes', async () => {
  const delivered = await send(1);
  await program.client.untilStatus(delivered, 'DELIVERED');
  expect(await operator.ask('GET', '/fence')).toMatchObject({ paused: false, state: 'open' });
  expect(await operator.ask('POST', '/fence/pause', { reason: 'a wrong price list' })).toMatchObject({
    paused: true,
    reason: `decision of the operator ${operator.username}: a wrong price list`,
  });
  expect((await operator.request('POST', '/fence/pause', { reason: 'again' })).status).toBe(409);
  await untilPaused();
  const waiting = await send(2);
  expect(await operator.ask('GET', '/fence')).toMatchObject({
    queued: [{ accountId: program.account.accountId, account: 'Acme', scheduled: 0 }],
  });
  expect(await operator.ask('POST', '/fence/resume')).toMatchObject({
    paused: false,
    decidedBy: `the operator ${operator.username}`,
    discarded: null,
  });
  await program.client.untilStatus(waiting, 'DELIVERED');
  expect((await operator.request('POST', '/fence/resume', {})).status).toBe(409);
  const log = await operator.ask<{ data: object[] }>('GET', '/audit?subject=sending');
  expect(log.data).toMatchObject([
    { action: 'sending.resume', actor: { kind: 'operator', username: operator.username } },
    { action: 'sending.pause', detail: { reason: 'a wrong price list' } },
  ]);
});

test('messages queued before the pause can be withdrawn; later ones are sent', async () => {
  await operator.ask('PUT', '/connections/main', { status: 'paused' });
  await until('no bind', () => Promise.resolve(program.smsc.sessions().length === 0));
  const before = await send(3);
  await operator.ask('POST', '/fence/pause', { reason: 'restored' });
  const after = await send(4);
  expect(await operator.ask('POST', '/fence/resume', { discard: true })).toMatchObject({ paused: false, discarded: 1 });
  expect((await program.client.status(before)).deliveryStatus).toBe('DELETED');
  await operator.ask('PUT', '/connections/main', { status: 'active' });
  await program.client.untilStatus(after, 'DELIVERED');
});
