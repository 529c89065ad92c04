import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Row = { id: number; numbers?: string[] };
const listed = async (path: string): Promise<Row[]> => (await operator.ask<{ data: Row[] }>('GET', path)).data;
const send = (phoneNumber: string, senderName: string) =>
  program.client.request('POST', '/api/message-server/sms/send', {
    body: { phoneNumber, message: 'Hello', senderName },
  });

test('a sender is replaced in a country by a number of a pool: the response and the timeline say so', async () => {
  const pool = await operator.ask<Row>('POST', '/number-pools', {
    name: 'us',
    numbers: ['+12025550141', '+12025550142'],
  });
  const rule = await operator.ask<Row>('PUT', '/sender-rules', {
    prefix: '1',
    alphanumeric: 'replaced',
    replacement: 'pool:us',
  });
  const answer = await until('the rule', async () => {
    const { body } = await send('+13125550100', 'ACME');
    const [result] = (body as { results: { sender?: string }[] }).results;
    return result?.sender !== undefined && (body as { messageId: string; results: { sender: string }[] });
  });
  const sender = answer.results[0]?.sender ?? '';
  expect(pool.numbers).toContain(sender);
  const { body } = await program.client.request('GET', `/api/partner-gateway/v1/messages/${answer.messageId}/timeline`);
  expect(JSON.stringify(body)).toContain(`sender ${sender} instead of ACME`);
  await operator.ask('DELETE', `/sender-rules/${rule.id}`);
  expect(await listed('/sender-rules')).toEqual([]);
});

test('a sender that is not allowed is rejected on a single send, and alone in a bulk', async () => {
  // Known once the rule is: a reload reads both.
  await operator.ask('POST', '/registered-senders', { prefix: '65', sender: 'Known' });
  await operator.ask('PUT', '/sender-rules', { prefix: '65', alphanumeric: 'refused', registeredOnly: true });
  await until('the rule', async () => JSON.stringify((await send('+6591234567', 'ACME')).body).includes('not allowed'));
  expect((await send('+6591234567', 'ACME')).body).toMatchObject({ results: [{ accepted: false, statusCode: 401 }] });
  expect((await send('+6591234567', 'Known')).body).toMatchObject({ results: [{ accepted: true }] });
  await insertConnection(program.pool, { name: 'elsewhere', kind: 'smpp', sandbox: false, settings: {} });
  await operator.ask('POST', '/registered-senders', { prefix: '65', sender: 'Bound', connection: 'elsewhere' });
  const bound = await until('the registration', async () => {
    const answer = await send('+6591234567', 'Bound');
    return JSON.stringify(answer.body).includes('provider') && answer;
  });
  expect(bound).toMatchObject({ status: 200, body: { results: [{ accepted: false, statusCode: 401 }] } });
  const { body } = await program.client.request('POST', '/services/sms/send', {
    body: { messages: [{ sender: 'ACME', body: 'Hello', destinations: ['+6591234567', '+393331234567'] }] },
  });
  expect(body).toMatchObject({ results: [{ accepted: false, statusCode: 401 }, { accepted: true }] });
});

test('pools and registered senders of an account name it, and unknown ones are refused', async () => {
  const { accountId } = program.account;
  const made = await operator.ask<Row>('POST', '/number-pools', { name: 'own', accountId, numbers: ['+12025550149'] });
  expect(made).toMatchObject({ name: 'own', accountId, account: 'Acme', numbers: ['+12025550149'] });
  expect(await operator.ask('POST', `/number-pools/${made.id}/numbers`, { number: '+12025550148' })).toEqual({
    kept: 0,
  });
  expect(await operator.request('POST', `/number-pools/${made.id}/numbers`, { number: '+12025550148' })).toMatchObject({
    status: 409,
  });
  await operator.ask('DELETE', `/number-pools/${made.id}/numbers?number=%2B12025550149`);
  expect(await listed('/number-pools')).toContainEqual(
    expect.objectContaining({ name: 'own', numbers: ['+12025550148'] }),
  );
  await operator.ask('DELETE', `/number-pools/${made.id}`);
  expect(
    await operator.request('POST', '/number-pools', { name: 'x', accountId: 99_999, numbers: ['+12025550149'] }),
  ).toMatchObject({ status: 404 });
  const entry = await operator.ask<Row>('POST', '/registered-senders', { prefix: '44', sender: 'ACME', accountId });
  expect(entry).toMatchObject({ accountId, account: 'Acme' });
  await operator.ask('DELETE', `/registered-senders/${entry.id}`);
  expect((await operator.request('DELETE', `/registered-senders/${entry.id}`)).status).toBe(404);
});
