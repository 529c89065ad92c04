import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { reconcile, updateStatementTimeout } from './reconciliation.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({
    carriers: { main: {}, silent: { prefix: '44', script: { receipts: 'none' } } },
  });
  operator = await openOperatorApi(program);
  // A refundable price stays frozen until a receipt reports the result.
  const price = { channel: 'SMS', price: 0.05 };
  await operator.ask('PUT', '/prices', { ...price, prefix: '' });
  await operator.ask('PUT', '/prices', { ...price, prefix: '44', refundUndelivered: true });
  await operator.ask('PUT', `/accounts/${program.account.accountId}`, { plan: 'production' });
  await operator.ask('POST', `/accounts/${program.account.accountId}/credit`, { amount: 100 });
  await program.stop();
  await program.start();
  await useEveryWayOfReserving();
});
afterAll(() => program[Symbol.asyncDispose]());

const CAMPAIGNS = '/api/partner-gateway/v1/campaigns';

/** A delivered message, a refundable one without a receipt, a waiting one, and a scheduled campaign. */
async function useEveryWayOfReserving(): Promise<void> {
  const { client } = program;
  const send = async (phoneNumber: string): Promise<string> =>
    (await client.send({ phoneNumber, message: 'Hello' })).messageId ?? '';
  await client.untilStatus(await send('+393331234567'), 'DELIVERED');
  const held = await send('+447700900001');
  await until('the response of its carrier', async () => {
    const { rowCount } = await program.pool.query('SELECT 1 FROM message_state WHERE id = $1', [held]);
    return rowCount === 1;
  });
  await client.sendAsMessageServer({
    destination: '+393331234568',
    sender: 'Acme',
    body: 'Later',
    scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const made = await client.request('POST', CAMPAIGNS, {
    body: {
      name: 'Spring',
      sendingMode: 'SMS',
      smsSender: 'Acme',
      smsBody: 'Hello',
      readyToSend: true,
      destinations: ['+393331230001', '+393331230002'],
      scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  const path = `${CAMPAIGNS}/${(made.body as { id: number }).id}`;
  await client.request('POST', `${path}/calculateGoal`);
  expect((await client.request('PUT', `${path}/confirm`)).status).toBe(202);
}

type Check = { name: string; ok: boolean | null; detail: string; data: object[] };
const checks = async (): Promise<Record<string, Check>> => {
  const { checks: all } = await operator.ask<{ checks: Check[] }>('GET', '/reconciliation');
  return Object.fromEntries(all.map((check) => [check.name, check]));
};
const change = (text: string) => program.pool.query(text);
/** The figures of an hour are compared once it is over. */
const inAnHour = () => new Date(Date.now() + 3_600_000);
beforeEach(() => exec(program.pool, sql`DELETE FROM receipt_unmatched`));

test('after traffic of every kind money, figures and receipts agree', async () => {
  const { accountId } = program.account;
  const account = await operator.ask<{ frozenCredit: number }>('GET', `/accounts/${accountId}`);
  // A held message, a scheduled one, and two recipients of a campaign.
  expect(account.frozenCredit).toBeCloseTo(4 * 0.05, 6);
  const found = await reconcile(program.pool, { hours: 24, now: inAnHour() });
  expect(found.filter(({ ok }) => ok !== true)).toEqual([]);
  expect(found.map(({ name }) => name)).toHaveLength(5);
  expect((await checks())['ledger_balanced']?.data).toMatchObject([{ currency: 'EUR', outside: -100 }]);
});

test('a balance that does not match its ledger is reported', async () => {
  const { accountId } = program.account;
  await change(
    `UPDATE credit_balance SET available_micros = available_micros + 1000000 WHERE account_id = ${accountId}`,
  );
  const { balances_match: check } = await checks();
  expect(check).toMatchObject({ ok: false, data: [{ accountId, of: 'available' }] });
  await change(
    `UPDATE credit_balance SET available_micros = available_micros - 1000000 WHERE account_id = ${accountId}`,
  );
});

test.each([
  ['a message that waits', 'message', `price_micros`, "destination = '+393331234568'"],
  ['a message whose price a receipt may give back', 'message', 'price_micros', "destination = '+447700900001'"],
  ['a campaign', 'campaign', 'reserved_micros', 'true'],
])('frozen credit that nothing is reserved for is named: of %s', async (_, table, column, where) => {
  await change(`UPDATE ${table} SET ${column} = ${column} - 10000 WHERE ${where}`);
  expect((await checks())['frozen_matches']).toMatchObject({
    ok: false,
    data: [{ accountId: program.account.accountId, of: 'frozen' }],
  });
  await change(`UPDATE ${table} SET ${column} = ${column} + 10000 WHERE ${where}`);
  expect((await checks())['frozen_matches']).toMatchObject({ ok: true });
});

test('a figure without messages behind it is reported', async () => {
  const add = (by: number) =>
    change(`UPDATE traffic_hour SET delivered = delivered + ${by}
            WHERE ctid = (SELECT ctid FROM traffic_hour WHERE delivered > 0 LIMIT 1)`);
  await add(1);
  const found = await reconcile(program.pool, { hours: 24, now: inAnHour() });
  expect(found.find(({ name }) => name === 'figures_match')).toMatchObject({
    ok: false,
    data: [{ accountId: program.account.accountId, of: 'delivered', expected: 1, found: 2 }],
  });
  await add(-1);
});

test('receipts that have been unmatched for an hour are reported by connection', async () => {
  const park = (hours: number) =>
    change(`INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
            VALUES (1, '{}', 'unknown', now() - ${hours} * interval '1 hour', now() + interval '1 day')`);
  await park(0);
  expect((await checks())['receipts_matched']).toMatchObject({ ok: true, data: [{ connection: 'main', receipts: 1 }] });
  await park(2);
  expect((await checks())['receipts_matched']).toMatchObject({ ok: false, data: [{ receipts: 2 }] });
});

test('a check that takes too long is cancelled, and the time limit ends with its transaction', async () => {
  const slow = transaction(program.pool, async (tx) => {
    await updateStatementTimeout(tx, { seconds: 0.05 });
    await exec(tx, sql`SELECT pg_sleep(30)`);
  });
  await expect(slow).rejects.toMatchObject({ code: '57014' });
  const { rows } = await program.pool.query('SHOW statement_timeout');
  expect(rows[0]).not.toEqual({ statement_timeout: '50ms' });
});

test('submits and receipts are compared by connection and hour, and the doctor says what is wrong', async () => {
  const { data } = await operator.ask<{ data: object[] }>('GET', '/receipts/hours?connection=main');
  expect(data).toMatchObject([{ connection: 'main', submitted: 1, final: 1, open: 0, finalPercent: 100 }]);
  await operator.ask('PUT', '/connections/main', { secret: { password: 'wrong' } });
  const doctor = await until('the fault', async () => {
    const seen = await operator.ask<{ ok: boolean; findings: { name: string; ok: boolean }[] }>('GET', '/doctor');
    return seen.findings.some(({ name, ok }) => name === 'smpp main' && !ok) && seen;
  });
  expect(doctor.ok).toBe(false);
  expect(doctor.findings).toContainEqual(expect.objectContaining({ name: 'clock', ok: true, advice: null }));
  expect(doctor.findings).toContainEqual(expect.objectContaining({ name: 'smpp main', advice: expect.any(String) }));
});
