import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { one, sql } from '../core/db/query.ts';
import { decodeTlvs } from '../smpp/wire.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

const send = (tlvs: readonly object[]) =>
  program.client.request('POST', '/api/message-server/sms/send', {
    body: { phoneNumber: '+393331234567', message: 'Hello', senderName: 'ACME', tlvs },
  });
const allow = (tlvTags: readonly string[]) =>
  operator.ask('PUT', `/accounts/${program.account.accountId}`, { tlvTags });

test('a send carries the parameters that its account may send, as they go to the carrier, and no others', async () => {
  const wanted = [
    { tag: '0x1400', value: '1101234' },
    { tag: '0x1500', type: 'int16', value: '7' },
  ];
  expect(await send(wanted)).toMatchObject({
    status: 400,
    body: { details: [{ field: 'tlvs', message: 'the account may not send this parameter' }] },
  });
  await allow(['0x1400', '0x1500']);
  const answer = await until('the tags', async () => {
    const sent = await send(wanted);
    return sent.status === 200 && sent;
  });
  const { messageId } = answer.body as { messageId: string };
  const { tlvs } = await one<{ tlvs: Buffer }>(program.pool, sql`SELECT tlvs FROM message WHERE id = ${messageId}`);
  expect([...decodeTlvs(tlvs)]).toEqual([
    [0x1400, Buffer.from('1101234\0')],
    [0x1500, Buffer.from([0, 7])],
  ]);
  expect((await send([{ tag: '0x1401', value: 'x' }])).status).toBe(400);
});

test('parameters in a wrong form are refused with their place, and so are tags that the gateway uses itself', async () => {
  expect(await send([{ tag: '0x1400', type: 'int8', value: '300' }])).toMatchObject({
    status: 400,
    body: { details: [{ field: 'tlvs[0].value' }] },
  });
  expect((await send(Array(11).fill({ tag: '0x1400', value: 'x' }))).status).toBe(400);
  const { accountId } = program.account;
  expect(await operator.request('PUT', `/accounts/${accountId}`, { tlvTags: ['0x0424'] })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'tlvTags[0]' }] },
  });
});
