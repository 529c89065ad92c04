import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { PASSWORD, startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Attention = { kind: string; severity: string; subject: string | null; count: number | null };
type Overview = {
  attention: Attention[];
  connections: { lastHour: { accepted: number } }[];
  series: { SMS: number }[];
  workers: number;
};
const look = (): Promise<Overview> => operator.ask('GET', '/overview');
const untilAttention = (kind: string) =>
  until(kind, async () => (await look()).attention.find((each) => each.kind === kind));

test('the overview shows rates, totals and a chart over all accounts, and nothing needs attention', async () => {
  const { messageId } = await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  await program.client.untilStatus(messageId ?? '', 'DELIVERED');
  const seen = await until('the figures of its carrier', async () => {
    const overview = await look();
    return overview.connections.some(({ lastHour }) => lastHour.accepted > 0) && overview;
  });
  expect(seen).toMatchObject({
    fence: { paused: false },
    workers: 1,
    accounts: { total: 2, active: 2, suspended: 0 },
    last24h: { sent: 1, delivered: 1, failed: 0 },
    channels: [{ channel: 'SMS', sent: 1 }],
    credit: [{ currency: 'EUR' }],
    queue: { waiting: 0, inFlight: 0, oldestSeconds: null },
    connections: [{ name: 'main', kind: 'smpp', up: true, lastHour: { accepted: 1 } }],
    top: [{ account: 'Acme', sent: 1 }],
    attention: [],
  });
  expect(seen.series).toHaveLength(60);
  expect(seen.series.reduce((sum, { SMS }) => sum + SMS, 0)).toBe(1);
});

test('a carrier that refuses us and a paused connection that is the only way need attention, errors first', async () => {
  await operator.ask('PUT', '/connections/main', { secret: { password: 'wrong' } });
  expect(await untilAttention('connection_fault')).toMatchObject({
    severity: 'error',
    subject: 'main',
    detail: expect.stringContaining('ESME_RINVPASWD'),
  });
  await operator.ask('PUT', '/connections/main', { status: 'paused' });
  await program.client.send({ phoneNumber: '+393331234568', message: 'Hello' });
  expect(await untilAttention('connection_paused')).toMatchObject({
    severity: 'error',
    subject: 'main',
    count: 1,
    accounts: 1,
  });
  await operator.ask('POST', '/fence/pause', { reason: 'look' });
  const { attention } = await look();
  expect(attention.map(({ kind }) => kind)).toEqual(['sending_paused', 'connection_paused']);
  await operator.ask('POST', '/fence/resume');
  await operator.ask('PUT', '/connections/main', { status: 'active', secret: { password: PASSWORD } });
});

test('low credit, failing webhooks, unknown outcomes, unmatched receipts and requested agents are reported', async () => {
  const { pool, account } = program;
  const { accountId } = account;
  await exec(
    pool,
    sql`WITH seen AS (UPDATE traffic_hour SET cost_micros = 5000000 WHERE account_id = ${accountId}),
        poor AS (UPDATE credit_balance SET unlimited = false, available_micros = 1500000 WHERE account_id = ${accountId}),
        hook AS (INSERT INTO webhook_endpoint (account_id, url, form, secret, failing_since)
                 VALUES (${accountId}, 'https://x.example', 'A', '', now() - interval '2 hours')),
        doubt AS (INSERT INTO unknown_outcome (account_id, message_id, connection_id, reason)
                  VALUES (${accountId}, uuidv7(), 1, 'cut')),
        stray AS (INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
                  VALUES (1, '{}', 'unknown', now() - interval '2 hours', now() + interval '1 day')),
        budget AS (INSERT INTO lookup_budget (account_id, day, asked, allowed)
                   VALUES (0, current_date, 11, 10), (${accountId}, current_date, 5, 10), (0, current_date - 1, 9, 1))
        INSERT INTO sender (channel, owner_id, name) VALUES ('RCS', ${accountId}, 'Wanted')`,
  );
  const kinds = new Map((await look()).attention.map((each) => [each.kind, each]));
  expect(kinds.get('low_credit')).toMatchObject({ severity: 'warning', subject: 'Acme', detail: '1.5 EUR' });
  expect(kinds.get('webhook_failing')).toMatchObject({ severity: 'warning', subject: 'Acme', subjectId: accountId });
  expect(kinds.get('unknown_outcomes')).toMatchObject({ severity: 'warning', count: 1 });
  expect(kinds.get('receipts_unmatched')).toMatchObject({ count: 1 });
  expect(kinds.get('lookups_used_up')).toMatchObject({ severity: 'warning', count: 10 });
  expect(kinds.get('agents_requested')).toMatchObject({ severity: 'info', count: 1 });
  await exec(
    pool,
    sql`WITH poor AS (UPDATE credit_balance SET available_micros = 0 WHERE account_id = ${accountId})
        UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'gone'`,
  );
  const { attention } = await look();
  expect(attention).toContainEqual(expect.objectContaining({ kind: 'low_credit', severity: 'error' }));
  expect(attention).toContainEqual(expect.objectContaining({ kind: 'webhook_disabled', detail: 'gone' }));
});

test('a gateway without a worker reports that, and that its connections are down', async () => {
  await using alone = await startTestProgram({ roles: { worker: false } });
  const api = await openOperatorApi(alone);
  const { attention, workers } = await api.ask<Overview>('GET', '/overview');
  expect(workers).toBe(0);
  expect(attention.map(({ kind, subject }) => [kind, subject])).toEqual([
    ['no_worker', null],
    ['connection_down', 'main'],
  ]);
});
