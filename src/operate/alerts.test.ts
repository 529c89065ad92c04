import { randomInt } from 'node:crypto';
import type { PoolClient } from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { type MailServer, startMailServer } from '../../test/support/mail-server.ts';
import { queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { createMailer } from '../core/mail.ts';
import { createGuard } from '../core/outbound.ts';
import { createPoster } from '../core/outbound-post.ts';
import { createSecretKey } from '../core/secrets.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertRoute } from '../routing/routes.ts';
import { deliverNext } from './alert-notices.ts';
import { countOpen, deleteOldNotices, findEvaluation, listAlerts } from './alert-store.ts';
import { addTarget, changeTarget, listTargets, removeTarget, type TargetChoice } from './alert-targets.ts';
import { acknowledgeAlert, evaluateAlerts, setRule } from './alerts.ts';
import { insertWorker } from './workers.ts';

const { pool } = testDatabase();
const secretKey = createSecretKey(Buffer.alloc(32, 7));
const owner = randomInt(2 ** 40);

let receiver: Receiver;
let mails: MailServer;
let session: PoolClient;
beforeAll(async () => {
  [receiver, mails] = await Promise.all([startReceiver(), startMailServer()]);
  session = await pool.connect();
  await exec(session, sql`SELECT pg_advisory_lock(${owner}::bigint)`);
});
afterAll(async () => {
  session.release(true);
  await receiver[Symbol.asyncDispose]();
  await mails[Symbol.asyncDispose]();
});

let connectionId: number;
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE alert, alert_rule, alert_target, alert_notice, connection, route, worker_process, dispatch_chunk,
          connection_quality, webhook_endpoint, audit_entry, job, mail_budget CASCADE`,
  );
  mails.mails.length = 0;
  mails.answer = 'take';
  receiver.answer({});
  await insertWorker(pool, { owner, host: 'here', pid: 1, tasks: [], freeBytes: null, certificateEndsAt: null });
  connectionId = (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId, priority: 0 });
});

const guard = () => createGuard({ allowedBlocks: ['127.0.0.0/8', '::1/128'], ports: [receiver.port] });
const evaluate = () => evaluateAlerts(pool, { now: new Date(), everyMs: 0 });
const deliver = (now = new Date()) =>
  deliverNext({
    pool,
    log: silentLog,
    now: () => now,
    publicUrl: 'https://gateway.example',
    secretKey,
    poster: createPoster({ guard: guard(), ca: TEST_CERT }),
    mailer: createMailer({ smtpUrl: mails.url, from: 'alerts@example.com' }),
  });

const CHOICE: TargetChoice = {
  severity: 'warning',
  language: 'en',
  quietFrom: null,
  quietTo: null,
  timeZone: 'UTC',
  breaksQuiet: false,
};
const add = (kind: 'mail' | 'webhook' | 'owners', address: string, choice: Partial<TargetChoice> = {}) =>
  transaction(pool, (tx) =>
    addTarget(tx, { secretKey, guard: guard() }, { kind, address, ...CHOICE, ...choice, by: 'op' }),
  );
const addHook = (choice: Partial<TargetChoice> = {}) => add('webhook', `${receiver.url}/hook`, choice);

const OPEN = ['pending', 'firing', 'acknowledged'] as const;
const open = async () =>
  (await listAlerts(pool, { states: OPEN, limit: 50, offset: 0 })).map(({ kind, state }) => `${kind} ${state}`);
const waiting = () =>
  many<{ event: string }>(pool, sql`SELECT event FROM alert_notice ORDER BY id`).then((all) =>
    all.map(({ event }) => event),
  );

/** Pretends that alerts have been as they are for this long. */
const pass = (minutes: number) =>
  exec(
    pool,
    sql`UPDATE alert SET found_at = found_at - make_interval(mins => ${minutes}),
          seen_at = CASE state WHEN 'pending' THEN seen_at ELSE seen_at - make_interval(mins => ${minutes}) END,
          told_at = told_at - make_interval(mins => ${minutes})`,
  );
/** Makes waiting notices due now, although one was sent a moment ago. */
const pause = () => exec(pool, sql`UPDATE alert_target SET due_at = now()`);
const up = (isUp: boolean) =>
  exec(
    pool,
    sql`INSERT INTO connection_status (connection_id, worker, up, binds_up, binds_wanted)
        VALUES (${connectionId}, ${owner}, ${isUp}, 1, 1)
        ON CONFLICT (connection_id, worker) DO UPDATE SET up = excluded.up, updated_at = now()`,
  );

/** Fires `connection_down` of main, with three waiting messages. */
async function fireDown(): Promise<void> {
  await queueMessages(pool, { connectionId, count: 3 });
  await evaluate();
  await pass(3);
  await evaluate();
}

test('a condition is an alert only once it has held for its time, and one that passes before leaves nothing', async () => {
  await addHook();
  await evaluate();
  expect(await open()).toEqual(['connection_down pending']);
  await up(true);
  await evaluate();
  expect(await open()).toEqual([]);
  await up(false);
  await evaluate();
  await pass(1);
  await evaluate();
  expect(await open()).toEqual(['connection_down pending']);
  expect(await waiting()).toEqual([]);
  await pass(2);
  await evaluate();
  expect(await open()).toEqual(['connection_down firing']);
  expect(await waiting()).toEqual(['fired']);
});

test('a condition that comes and goes within two minutes stays one alert, which is resolved after them', async () => {
  await addHook();
  await fireDown();
  await up(true);
  await evaluate();
  await up(false);
  await evaluate();
  expect(await open()).toEqual(['connection_down firing']);
  await up(true);
  await pass(3);
  await evaluate();
  expect(await open()).toEqual([]);
  expect(await waiting()).toEqual(['fired', 'resolved']);
  expect(await listAlerts(pool, { states: ['resolved'], limit: 10, offset: 0 })).toMatchObject([
    { kind: 'connection_down', subject: 'main', count: 3, accounts: 1, resolvedAt: expect.any(Date) },
  ]);
});

test('of several processes one evaluates, and no alert is announced twice', async () => {
  await addHook();
  await evaluate();
  await pass(3);
  await exec(pool, sql`UPDATE alert_evaluation SET evaluated_at = now() - interval '1 day'`);
  const turns = await Promise.all(
    Array.from({ length: 5 }, () => evaluateAlerts(pool, { now: new Date(), everyMs: 10_000 })),
  );
  expect(turns.filter(Boolean)).toHaveLength(1);
  expect(await waiting()).toEqual(['fired']);
  expect(Date.now() - (await findEvaluation(pool)).at.getTime()).toBeLessThan(60_000);
});

test('an acknowledged alert is not sent again, and others every four hours', async () => {
  await addHook();
  await fireDown();
  await exec(pool, sql`UPDATE alert SET told_at = now() - interval '5 hours'`);
  await evaluate();
  await evaluate();
  expect(await waiting()).toEqual(['fired', 'reminder']);
  const [alert] = await listAlerts(pool, { states: ['firing'], limit: 1, offset: 0 });
  const acknowledge = () => transaction(pool, (tx) => acknowledgeAlert(tx, { id: alert?.id ?? 0, by: 'op' }));
  await acknowledge();
  await expect(acknowledge()).rejects.toThrow('acknowledged already');
  await exec(pool, sql`UPDATE alert SET told_at = now() - interval '5 hours'`);
  await evaluate();
  expect(await waiting()).toEqual(['fired', 'reminder']);
  expect(await countOpen(pool)).toEqual([{ kind: 'connection_down', state: 'acknowledged', count: 1 }]);
});

test('a warning that becomes a problem is announced again, also when it was acknowledged', async () => {
  await addHook({ severity: 'error' });
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, failing_since)
        VALUES (1, 'https://x.example', 'A', '', now() - interval '2 hours')`,
  );
  await exec(
    pool,
    sql`INSERT INTO account (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'Acme') ON CONFLICT DO NOTHING`,
  );
  await exec(
    pool,
    sql`INSERT INTO alert (kind, place, severity, since, state, told_severity, fired_at, told_at)
        VALUES ('connection_down', ${String(connectionId)}, 'warning', now(), 'acknowledged', 'warning', now(), now())`,
  );
  await evaluate();
  expect((await open()).toSorted()).toEqual(['connection_down firing', 'webhook_failing firing']);
  // The failing webhook is a warning: this recipient is notified of problems only.
  expect(await waiting()).toEqual(['fired']);
});

test('a webhook gets all that happened in one signed message in the form of Slack, at most one a minute', async () => {
  const { secret } = await addHook();
  await fireDown();
  const before = receiver.requests.length;
  await up(true);
  await pass(3);
  await evaluate();
  await exec(pool, sql`UPDATE connection SET status = 'paused'`);
  await evaluate();
  await pass(3);
  await evaluate();
  expect(await waiting()).toEqual(['fired', 'resolved', 'fired']);
  expect(await deliver()).toBe(true);
  expect(await deliver()).toBe(false);
  const posted = (await receiver.received(before + 1)).slice(before);
  expect(posted).toHaveLength(1);
  const [{ body, headers } = { body: '', headers: {} }] = posted;
  new Webhook(secret ?? '').verify(body, headers);
  const said = JSON.parse(body) as { text: string; attachments: { title: string; callback_id: string }[] };
  expect(said.text).toContain('2 alerts\n<https://gateway.example/operator/alerts|All alerts>');
  expect(said.attachments.map(({ title }) => title)).toEqual([
    expect.stringMatching(/^Resolved: main is down; 3 messages of 1 account waiting \(lasted \d+ min\)$/),
    'Problem: main is paused; 3 messages of 1 account waiting',
  ]);
  expect(said.attachments[0]?.callback_id).toMatch(/^connection_down:\d+:resolved$/);
  expect(await waiting()).toEqual([]);
  await exec(pool, sql`UPDATE alert SET told_at = now() - interval '5 hours' WHERE state = 'firing'`);
  await evaluate();
  // The minute is not over.
  expect(await deliver()).toBe(false);
  await pause();
  expect(await deliver()).toBe(true);
});

test('what a receiver does not take is sent again under the same id, and what happens meanwhile comes afterwards', async () => {
  await addHook();
  await fireDown();
  const before = receiver.requests.length;
  receiver.answer({ status: 500, body: 'no' });
  await deliver();
  expect(await listTargets(pool)).toMatchObject([{ attempts: 1, lastError: 'HTTP 500 no', waiting: 1 }]);
  expect(await deliver()).toBe(false);
  await exec(pool, sql`UPDATE alert SET told_at = now() - interval '5 hours'`);
  await evaluate();
  receiver.answer({});
  await pause();
  await deliver();
  const [first, second] = (await receiver.received(before + 2)).slice(before);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.body).toBe(first?.body);
  expect(await waiting()).toEqual(['reminder']);
  expect(await listTargets(pool)).toMatchObject([{ attempts: 0, lastError: null, failingSince: null }]);
  await exec(pool, sql`UPDATE alert_notice SET created_at = now() - interval '4 days'`);
  expect(await deleteOldNotices(pool)).toBe(1);
});

test('two processes do not tell one recipient at the same time', async () => {
  await addHook();
  await fireDown();
  const before = receiver.requests.length;
  const sent = await Promise.all([deliver(), deliver(), deliver()]);
  expect(sent.filter(Boolean)).toHaveLength(1);
  expect(receiver.requests.length - before).toBe(1);
});

test('in quiet times nothing is sent but, if wanted, problems; the rest comes in one message afterwards', async () => {
  const night = { quietFrom: 22 * 60, quietTo: 7 * 60 };
  await add('mail', 'Night@example.com', { ...night, language: 'it' });
  await fireDown();
  expect(await deliver(new Date('2026-01-10T23:00:00Z'))).toBe(false);
  expect(await deliver(new Date('2026-01-11T08:00:00Z'))).toBe(true);
  const { text, headers } = await mails.mailTo('night@example.com');
  expect(text).toContain('Problema: main è interrotta; in attesa 3 messaggi di 1 account');
  expect(headers).toContain('From: Heliograph <alerts@example.com>');
  const [target] = await listTargets(pool);
  await transaction(pool, (tx) =>
    changeTarget(tx, { ...CHOICE, ...night, id: target?.id ?? 0, breaksQuiet: true, by: 'op' }),
  );
  await exec(pool, sql`UPDATE alert SET told_at = now() - interval '5 hours'`);
  await evaluate();
  expect(await deliver(new Date('2026-01-11T23:00:00Z'))).toBe(true);
  expect((await mails.mailTo('night@example.com', 2)).text).toContain('Problem: main is down');
});

test('administrators of an account get mails about their own account only', async () => {
  await exec(
    pool,
    sql`INSERT INTO account (id, name) OVERRIDING SYSTEM VALUE VALUES (71, 'Own'), (72, 'Other') ON CONFLICT DO NOTHING`,
  );
  await exec(
    pool,
    sql`INSERT INTO app_user (account_id, username, password_hash, role)
        VALUES (71, 'own@example.com', '', 'admin'), (71, 'viewer@example.com', '', 'viewer'),
               (72, 'other@example.com', '', 'admin') ON CONFLICT DO NOTHING`,
  );
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, status, disabled_reason)
        VALUES (71, 'https://x.example', 'A', '', 'disabled', 'gone')`,
  );
  await add('owners', '');
  await expect(add('owners', '')).rejects.toThrow('already notified');
  await fireDown();
  expect((await open()).toSorted()).toEqual(['connection_down firing', 'webhook_disabled firing']);
  expect(await waiting()).toEqual(['fired']);
  await deliver();
  expect(await waiting()).toEqual([]);
  expect(await many(pool, sql`SELECT account_id AS "accountId" FROM job`)).toEqual([{ accountId: 71 }]);
});

test('rules decide which conditions are alerts, from where on, and are recorded', async () => {
  const rule = { kind: 'connection_down', enabled: false, forSeconds: 0, threshold: null, by: 'op' } as const;
  await transaction(pool, (tx) => setRule(tx, rule));
  await evaluate();
  expect(await open()).toEqual([]);
  await transaction(pool, (tx) => setRule(tx, { ...rule, enabled: true }));
  await evaluate();
  expect(await open()).toEqual(['connection_down firing']);
  const misfit = transaction(pool, (tx) => setRule(tx, { ...rule, threshold: 5 }));
  await expect(misfit).rejects.toMatchObject({ details: [{ field: 'threshold' }] });
  expect(
    await many(pool, sql`SELECT action, subject FROM audit_entry WHERE account_id = 0 ORDER BY id LIMIT 1`),
  ).toEqual([{ action: 'alert-rule.set', subject: 'alert-rule:connection_down' }]);
});

test('a connection that delivers less than in its own week is an alert after ten minutes', async () => {
  await up(true);
  const quality = (hoursAgo: number, messages: number, delivered: number) =>
    exec(
      pool,
      sql`INSERT INTO connection_quality (connection_id, country, slot, messages, delivered, receipt_ms)
          VALUES (${connectionId}, '39', now() - ${hoursAgo} * interval '1 hour', ${messages}, ${delivered}, 0)`,
    );
  await quality(100, 1000, 950);
  await quality(0.5, 100, 80);
  await evaluate();
  expect(await open()).toEqual([]);
  await quality(0.25, 100, 40);
  await evaluate();
  await pass(11);
  await evaluate();
  expect(await listAlerts(pool, { states: ['firing'], limit: 5, offset: 0 })).toMatchObject([
    { kind: 'delivery_falling', severity: 'warning', subject: 'main', count: 60, compared: 95 },
  ]);
});

test('a recipient needs a valid address, and one that is removed gets nothing more', async () => {
  await expect(add('mail', 'nobody')).rejects.toMatchObject({ details: [{ field: 'address' }] });
  await expect(add('webhook', 'https://10.0.0.1/hook')).rejects.toMatchObject({ details: [{ field: 'address' }] });
  await expect(add('mail', 'a@example.com', { timeZone: 'Mars/Base' })).rejects.toMatchObject({
    details: [{ field: 'timeZone' }],
  });
  const { id } = await addHook();
  // Only the origin is kept readable: the path may be a token.
  expect(await listTargets(pool)).toMatchObject([{ address: receiver.url }]);
  await fireDown();
  await transaction(pool, (tx) => removeTarget(tx, { id, by: 'op' }));
  expect(await waiting()).toEqual([]);
  const again = transaction(pool, (tx) => removeTarget(tx, { id, by: 'op' }));
  await expect(again).rejects.toMatchObject({ code: 'not_found' });
});
