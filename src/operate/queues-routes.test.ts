import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';
import { HOUR_MS } from '../core/time.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
  await operator.ask('PUT', '/connections/main', { status: 'paused' });
  // The worker follows a moment later.
  await until('the connection to be down', async () => {
    const { up } = await operator.ask<{ up: boolean }>('GET', '/connections/main');
    return !up;
  });
});
afterAll(() => program[Symbol.asyncDispose]());

const bulk = (destinations: readonly string[], more: object = {}) =>
  program.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }], ...more });

test('waiting messages are counted by account, connection and priority, scheduled and due ones apart', async () => {
  await bulk(['+393330000001', '+393330000002', '+393330000003']);
  await program.client.sendAsMessageServer({
    destination: '+393330000004',
    sender: 'Acme',
    body: 'Later',
    scheduledDate: new Date(Date.now() + HOUR_MS).toISOString(),
  });
  const total = await operator.ask<{ messages: object }>('GET', '/queues');
  expect(total.messages).toMatchObject({ waiting: 3, scheduled: 1, missed: 0, inFlight: 0, parked: 0 });
  const { accountId } = program.account;
  const { data } = await operator.ask<{ data: { waiting: number; scheduled: number }[] }>(
    'GET',
    `/queues/messages?accountId=${accountId}&connection=main`,
  );
  expect(data.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(3);
  expect(data.reduce((sum, { scheduled }) => sum + scheduled, 0)).toBe(1);
  expect(data[0]).toMatchObject({ accountId, account: 'Acme', connection: 'main', oldestSeconds: expect.any(Number) });
  expect(await operator.ask('GET', `/queues/messages?accountId=${operator.accountId}`)).toMatchObject({ total: 0 });
});

test('every worker is listed with its tasks', async () => {
  type Task = { readonly name: string; readonly ranAt: string | null };
  const hasRun = ({ name, ranAt }: Task): boolean => name === 'receipts' && ranAt !== null;
  const { workers } = await until('the first run of the receipts task', async () => {
    const seen = await operator.ask<{ workers: { tasks: Task[] }[] }>('GET', '/queues');
    return seen.workers.some(({ tasks }) => tasks.some(hasRun)) && seen;
  });
  expect(workers).toMatchObject([{ alive: true, pid: process.pid, host: expect.any(String) }]);
  expect(workers[0]?.tasks).toContainEqual({ name: 'receipts', ranAt: expect.any(String), error: null });
});

test('the queue of each background process is listed with its age', async () => {
  await exec(
    program.pool,
    sql`INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
        VALUES (1, '{}', 'unknown', now() - interval '2 hours', now() + interval '1 day')`,
  );
  const { pipelines } = await operator.ask<{ pipelines: { name: string; oldestSeconds: number | null }[] }>(
    'GET',
    '/queues',
  );
  const unmatched = pipelines.find(({ name }) => name === 'unmatched receipts');
  expect(unmatched).toMatchObject({ waiting: 1 });
  expect(unmatched?.oldestSeconds).toBeGreaterThanOrEqual(7200);
  expect(pipelines.find(({ name }) => name === 'exports')).toEqual({
    name: 'exports',
    waiting: 0,
    oldestSeconds: null,
  });
});

test('a missed schedule waits for an operator to release or cancel it; a second decision gets 404', async () => {
  await exec(program.pool, sql`DELETE FROM dispatch_chunk`);
  await program.stop();
  for (const n of [5, 6])
    await exec(
      program.pool,
      sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, available_at, scheduled, size, ids)
          VALUES (${program.account.accountId}, 1, 1, ${n}, now() - interval '2 hours', true, 1, ARRAY[uuidv7()])`,
    );
  await program.start();
  const listed = await operator.ask<{ data: { id: number }[] }>('GET', '/schedules/missed');
  expect(listed).toMatchObject({ total: 2, data: [{ account: 'Acme', messages: 1 }, {}] });
  const [first, second] = listed.data.map(({ id }) => `/schedules/missed/${id}`);
  expect(await operator.ask('POST', `${first}/release`)).toEqual({ messages: 1 });
  expect((await operator.request('POST', `${first}/cancel`)).status).toBe(404);
  await operator.ask('POST', `${second}/cancel`);
  expect(await operator.ask('GET', '/schedules/missed')).toMatchObject({ total: 0, data: [] });
  const log = await operator.ask('GET', `/audit?accountId=${program.account.accountId}&limit=2`);
  expect(log).toMatchObject({
    data: [
      { action: 'schedule.cancel', actor: { kind: 'operator', username: operator.username } },
      { action: 'schedule.release', actor: { username: operator.username } },
    ],
  });
});
