import { afterAll, beforeAll, expect, test } from 'vitest';
import { bindLibrary } from '../../test/support/carriers/smpp-library-client.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { newCredential } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { newId } from '../core/ids.ts';

let port: number;
let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  port = await freePort();
  program = await startTestProgram({ environment: { SMPP_PORT: String(port) } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

test('open binds are listed with their account and what waits for them, and ended ones are not', async () => {
  const { pool, account } = program;
  const { accountId } = account;
  const { id, systemId, password } = await newCredential(pool, accountId, { name: 'Kannel', window: 7 });
  const client = await bindLibrary(port, 'transmitter', { system_id: systemId, password });
  await pool.query(
    `INSERT INTO smpp_outbox (account_id, credential_id, message_id, status, at)
     VALUES ($1, $2, $3, 3, now() - interval '1 minute')`,
    [accountId, id, newId()],
  );
  // As a process that was killed leaves it.
  await pool.query(
    `INSERT INTO smpp_bind (account_id, credential_id, owner, mode, address) VALUES ($1, $2, 1, 'receiver', '192.0.2.1')`,
    [accountId, id],
  );
  expect(await operator.ask('GET', `/smpp/binds?accountId=${accountId}`)).toMatchObject({
    total: 1,
    data: [
      {
        accountId,
        account: 'Acme',
        systemId,
        name: 'Kannel',
        mode: 'transmitter',
        address: '127.0.0.1',
        version: '34',
        window: 7,
        submits: 0,
        perSecond: 0,
        waiting: 1,
        boundAt: expect.any(String),
      },
    ],
  });
  const waiting = await operator.ask<{ waiting: number; oldestSeconds: number }>('GET', '/smpp/deliveries');
  expect(waiting.waiting).toBe(1);
  expect(waiting.oldestSeconds).toBeGreaterThanOrEqual(60);
  expect(await operator.ask('GET', `/smpp/binds?accountId=${operator.accountId}`)).toMatchObject({ total: 0 });
  await client.close();
  await until('no bind is listed', async () => {
    const { total } = await operator.ask<{ total: number }>('GET', '/smpp/binds');
    return total === 0;
  });
});
