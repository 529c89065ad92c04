import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { type MailServer, startMailServer } from '../../test/support/mail-server.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';
import { TARGET_EXAMPLE } from './alert-routes.ts';

let mails: MailServer;
let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  mails = await startMailServer();
  program = await startTestProgram({ environment: { SMTP_URL: mails.url, MAIL_FROM: 'alerts@example.com' } });
  operator = await openOperatorApi(program);
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await mails[Symbol.asyncDispose]();
});

type Alert = { id: number; kind: string; state: string; title: string; acknowledgedBy: string | null };
const list = (query: string) => operator.ask<{ data: Alert[]; total: number }>('GET', `/alerts?${query}`);
const { address: _, kind: __, ...CHOICE } = TARGET_EXAMPLE;

test('a pause of all sending is reported by email although sending is paused, acknowledged, and resolved', async () => {
  const address = 'ops@example.com';
  const target = { ...CHOICE, kind: 'mail', address, quiet: null };
  const { id, secret } = await operator.ask<{ id: number; secret: string | null }>('POST', '/alert-targets', target);
  expect(secret).toBe(null);
  await operator.ask('POST', '/fence/pause', { reason: 'a copy' });
  await exec(program.pool, sql`UPDATE alert_evaluation SET evaluated_at = now() - interval '1 day'`);
  const { text } = await mails.mailTo(address);
  expect(text).toContain('Problem: Sending is paused for all accounts\ndecision of the operator gateway: a copy\n');
  const [alert] = (await list('state=firing&language=it')).data;
  expect(alert).toMatchObject({ kind: 'sending_paused', title: 'L’invio è in pausa per tutti gli account' });
  await operator.ask('POST', `/alerts/${alert?.id}/acknowledge`);
  expect((await operator.request('POST', `/alerts/${alert?.id}/acknowledge`)).status).toBe(409);
  expect((await operator.request('POST', '/alerts/999/acknowledge')).status).toBe(404);
  expect((await list('')).data).toMatchObject([{ state: 'acknowledged', acknowledgedBy: operator.username }]);
  await operator.ask('POST', '/fence/resume');
  await exec(program.pool, sql`UPDATE alert SET seen_at = now() - interval '10 minutes'`);
  await until('the end of the alert', async () => {
    await exec(program.pool, sql`UPDATE alert_target SET due_at = now() WHERE due_at > now()`);
    return (await list('state=resolved')).total === 1;
  });
  await operator.ask('DELETE', `/alert-targets/${id}`);
});

test('rules have defaults, are changed, and apply to the overview as well', async () => {
  const { data } = await operator.ask<{ data: { kind: string }[] }>('GET', '/alert-rules');
  const rule = (kind: string) => data.find((each) => each.kind === kind);
  expect(rule('low_credit')).toEqual({
    kind: 'low_credit',
    enabled: true,
    forSeconds: 60,
    threshold: 24,
    unit: 'hours',
  });
  expect(rule('agents_requested')).toMatchObject({ enabled: false, threshold: null, unit: null });
  await exec(
    program.pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, failing_since)
        VALUES (${program.account.accountId}, 'https://x.example', 'A', '', now() - interval '30 minutes')`,
  );
  const kinds = async () =>
    (await operator.ask<{ attention: { kind: string }[] }>('GET', '/overview')).attention.map(({ kind }) => kind);
  expect(await kinds()).not.toContain('webhook_failing');
  await operator.ask('PUT', '/alert-rules/webhook_failing', { enabled: true, forSeconds: 0, threshold: 0.25 });
  expect(await kinds()).toContain('webhook_failing');
  const refused = await operator.request('PUT', '/alert-rules/webhook_failing', {
    enabled: true,
    forSeconds: -1,
    threshold: 1,
  });
  expect(refused.status).toBe(400);
});

test('recipients are added, changed, tested and removed; the path of a webhook is never shown', async () => {
  const outside = { ...TARGET_EXAMPLE, kind: 'webhook', address: 'https://127.0.0.1/hook' };
  expect((await operator.request('POST', '/alert-targets', outside)).body).toMatchObject({
    details: [{ field: 'address' }],
  });
  const made = await operator.ask<{ id: number }>('POST', '/alert-targets', {
    ...TARGET_EXAMPLE,
    kind: 'mail',
    address: 'late@example.com',
  });
  expect(await operator.ask('POST', `/alert-targets/${made.id}/test`)).toEqual({ ok: true, detail: null });
  expect((await mails.mailTo('late@example.com')).text).toContain('This is a test');
  mails.answer = 'never';
  expect(await operator.ask('POST', `/alert-targets/${made.id}/test`)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('550'),
  });
  mails.answer = 'take';
  await operator.ask('PUT', `/alert-targets/${made.id}`, { ...CHOICE, severity: 'error', quiet: null });
  expect(await operator.ask('GET', '/alert-targets')).toMatchObject({
    canMail: true,
    data: [{ id: made.id, kind: 'mail', address: 'late@example.com', severity: 'error', quiet: null, waiting: 0 }],
  });
  await operator.ask('DELETE', `/alert-targets/${made.id}`);
  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/test'],
  ] as const)
    expect((await operator.request(method, `/alert-targets/${made.id}${path}`)).status).toBe(404);
});

test('a process without a worker says that no worker runs', async () => {
  await using alone = await startTestProgram({ roles: { worker: false } });
  const api = await openOperatorApi(alone);
  const found = await until('the alert', async () => {
    await exec(alone.pool, sql`UPDATE alert SET found_at = now() - interval '10 minutes'`);
    await exec(alone.pool, sql`UPDATE alert_evaluation SET evaluated_at = now() - interval '1 day'`);
    const { data } = await api.ask<{ data: Alert[] }>('GET', '/alerts?state=firing');
    return data.find(({ kind }) => kind === 'no_worker');
  });
  expect(found.title).toBe('No worker is running: messages are queued, but not sent');
});
