import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { newKey, openRoutes, PG } from '../../test/support/http/routes.ts';
import { explain } from '../../test/support/plans.ts';
import { newMessage } from '../../test/support/queue.ts';
import type { Scope } from '../core/actor.ts';
import { bitOf, type Channel } from '../core/channels.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { firstIdAt, newId } from '../core/ids.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { countTraffic, foldTraffic, type TrafficDelta } from '../messages/traffic.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { insertConnection, insertConnectionStatus } from '../routing/connection-store.ts';
import { insertRoute } from '../routing/routes.ts';
import { overviewRoutes } from './overview.ts';
import { countAccepted, listActiveCampaigns, listHours } from './overview-store.ts';

const HOUR = 3_600_000;
/** Half past noon today, for which a partition exists. */
const NOON = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 + 12.5 * HOUR);
let now = NOON;

const { pool, otherAccount, newAccount, get, ...routes } = await openRoutes([overviewRoutes], {
  base: `${PG}/overview`,
  deps: { clock: { now: () => now } },
});
afterAll(() => routes[Symbol.asyncDispose]());
let account: NewAccount;
beforeEach(async () => {
  now = NOON;
  account = await newAccount({ plan: 'production', creditMicros: 5_000_000 });
});

const overview = async (query = '') => (await get(query, account.apiKey)).body;
type Item = { kind: string; severity: string };
const attention = async (): Promise<Item[]> => (await overview()).attention;

const count = (at: Date, what: Partial<TrafficDelta>, channel: Channel = 'SMS') =>
  countTraffic(pool, [
    { accountId: account.accountId, id: firstIdAt(at), campaignId: null, channel: bitOf(channel), ...what },
  ]);
const hoursAgo = (hours: number): Date => new Date(NOON.getTime() - hours * HOUR);

describe('traffic', () => {
  test('an account without traffic has zeros for every hour and channel', async () => {
    const { series, totals, rate, credit, campaigns, asOf } = await overview('?hours=3');
    expect(series).toHaveLength(9);
    expect(series[0]).toEqual({
      bucket: `${hoursAgo(2).toISOString().slice(0, 13)}:00:00.000Z`,
      channel: 'SMS',
      sent: 0,
      delivered: 0,
      failed: 0,
      cost: 0,
    });
    expect(series.at(-1)).toMatchObject({
      bucket: `${NOON.toISOString().slice(0, 13)}:00:00.000Z`,
      channel: 'WHATSAPP',
    });
    expect(totals.today).toEqual({ sent: 0, delivered: 0, failed: 0, pending: 0, cost: 0 });
    expect(rate).toEqual({ accepted: 0, delivered: null, failed: null });
    expect(credit).toEqual({ available: 5, frozen: 0, currency: 'EUR', unlimited: false });
    expect([campaigns, asOf]).toEqual([[], NOON.toISOString()]);
    expect((await overview()).series).toHaveLength(72);
  });

  test('figures are exact, folded or not', async () => {
    await count(hoursAgo(0), { sent: 10, delivered: 6, failed: 3, unsent: 1, costMicros: 250_000 });
    await count(hoursAgo(3), { sent: 2, delivered: 2 }, 'RCS');
    await count(hoursAgo(13), { sent: 100, delivered: 100 });
    await count(hoursAgo(24), { sent: 5, delivered: 4 });
    for (const folded of [false, true]) {
      if (folded) await foldTraffic(pool, () => NOON);
      const { series, totals } = await overview('?hours=13');
      expect(totals.today).toEqual({ sent: 12, delivered: 8, failed: 3, pending: 2, cost: 0.25 });
      expect(totals.yesterday).toMatchObject({ sent: 5, delivered: 4, pending: 1 });
      const some = series.filter(({ sent }: { sent: number }) => sent > 0);
      expect(some).toMatchObject([
        { channel: 'RCS', sent: 2, delivered: 2, failed: 0 },
        { channel: 'SMS', sent: 10, delivered: 6, failed: 3, cost: 0.25 },
      ]);
    }
    expect((await overview('?hours=168')).series).toHaveLength(168 * 3);
  });

  test('the delivery rate is known from the second request on', async () => {
    await count(hoursAgo(1), { sent: 500, delivered: 400 });
    await overview();
    await count(hoursAgo(1), { delivered: 50 });
    await count(hoursAgo(0), { sent: 10, failed: 5 });
    now = new Date(NOON.getTime() + 10_000);
    expect((await overview('?hours=1')).rate).toEqual({ accepted: 0, delivered: 5, failed: 0.5 });
  });

  test('messages accepted in the last minute count; simulations and older messages do not', async () => {
    const { accountId } = account;
    const idAgo = (ms: number): string => firstIdAt(new Date(NOON.getTime() - ms)).slice(0, 14) + newId().slice(14);
    const made = Array.from({ length: 90 }, () => newMessage({ accountId, id: idAgo(30_000) }));
    const simulated = Array.from({ length: 30 }, () => newMessage({ accountId, id: idAgo(20_000), simulation: true }));
    await insertMessages(pool, [...made, ...simulated, newMessage({ accountId, id: idAgo(70_000) })]);
    expect((await overview()).rate.accepted).toBe(1.5);
  });

  test('when more messages arrived than are counted, the rate is over the time that these took', async () => {
    const { accountId } = account;
    const idAgo = (ms: number): string => firstIdAt(new Date(NOON.getTime() - ms)).slice(0, 14) + newId().slice(14);
    for (let n = 0; n < 6; n++)
      await insertMessages(
        pool,
        Array.from({ length: 1000 }, () => newMessage({ accountId, id: idAgo(n * 1000) })),
      );
    expect((await overview()).rate.accepted).toBe(2000);
  });
});

async function newCampaign(status: number, more: { paused?: boolean; reason?: string; inHours?: number } = {}) {
  const { accountId } = account;
  const at = more.inHours === undefined ? null : new Date(Date.now() + more.inHours * HOUR);
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at, started_at, scheduled_at, paused_at,
                              completed_at, failure_reason, total_destinations)
        VALUES (${accountId}, ${`C${status}`}, ${status}, 'SMS', now(), ${status > 1 ? hoursAgo(1) : null}, ${at},
                ${more.paused ? NOON : null}, ${status === 4 ? new Date() : null}, ${more.reason ?? null}, 100)
        RETURNING id`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_run (account_id, campaign_id, expanded, recipients) VALUES (${accountId}, ${id}, true, 100)`,
  );
  return id;
}

test('campaigns that are being sent come before scheduled ones, of which the next comes first', async () => {
  const later = await newCampaign(1, { inHours: 5 });
  const sooner = await newCampaign(1, { inHours: 1 });
  const sending = await newCampaign(2);
  await newCampaign(3);
  await count(hoursAgo(0), { campaignId: sending, sent: 40, delivered: 10 });
  const { campaigns } = await overview();
  expect(campaigns.map(({ id }: { id: number }) => id)).toEqual([sending, sooner, later]);
  expect(campaigns[0]).toMatchObject({
    status: 2,
    sendingMode: 'SMS',
    paused: false,
    progress: 0.1,
    sent: 40,
    total: 100,
    failureReason: null,
    ratePerSecond: expect.any(Number),
    estimatedSecondsLeft: 5400,
    scheduledAt: null,
  });
  expect(campaigns[1]).toMatchObject({ status: 1, ratePerSecond: null, scheduledAt: expect.any(String) });
});

describe('attention', () => {
  test('an account without problems needs no attention', async () => {
    expect(await attention()).toEqual([]);
  });

  test('low credit is a warning, no credit is an error, and an account that pays after use gets neither', async () => {
    await count(hoursAgo(2), { sent: 1, costMicros: 5_000_001 });
    expect(await attention()).toMatchObject([{ kind: 'low_credit', severity: 'warning' }]);
    const { accountId } = account;
    await exec(pool, sql`UPDATE credit_balance SET available_micros = 0 WHERE account_id = ${accountId}`);
    expect(await attention()).toMatchObject([{ kind: 'low_credit', severity: 'error' }]);
    await exec(pool, sql`UPDATE credit_balance SET unlimited = true WHERE account_id = ${accountId}`);
    expect(await attention()).toEqual([]);
  });

  test('everything of the account that failed or waits is listed, worst first', async () => {
    const { accountId } = account;
    const failed = await newCampaign(4, { reason: 'no credit' });
    const held = await newCampaign(2, { paused: true, reason: 'template refused' });
    await newCampaign(2, { paused: true });
    for (const statement of [
      sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, failing_since)
          VALUES (${accountId}, 'https://a', 'A', '', ${NOON})`,
      sql`INSERT INTO unknown_outcome (account_id, message_id, connection_id, reason, created_at)
          SELECT ${accountId}, uuidv7(), 1, 'x', ${NOON} FROM generate_series(1, 3)`,
      sql`INSERT INTO contact_import (account_id, status, file_name, dry_run, author, columns, preview, total, completed_at)
          VALUES (${accountId}, 'FAILED', 'a.csv', false, '{}', '{}', '{}', 1, now()),
                 (${accountId}, 'FAILED', 'old.csv', false, '{}', '{}', '{}', 1, now() - interval '8 days')`,
      sql`INSERT INTO export (account_id, type, format, status, filters, failure, completed_at)
          VALUES (${accountId}, 'HISTORY', 'csv', 'FAILED', '{}', 'disk full', now())`,
      sql`INSERT INTO social_profile (account_id, platform, external_id, profile_name, scopes, linked, tokens, disconnected)
          VALUES (${accountId}, 'google', 'x', 'Shop', '{}', '{}', '', 'revoked')`,
      sql`INSERT INTO template (channel, id, owner_id, name, status, reason, content)
          VALUES ('RCS', ${`t${accountId}`}, ${accountId}, 'offer', 'REJECTED', 'spam', '{}')`,
    ])
      await exec(pool, statement);
    const nothing = { count: null, subject: null, subjectId: null, since: null, detail: null };
    const since = expect.any(String);
    expect(await attention()).toEqual([
      {
        ...nothing,
        kind: 'campaign_failed',
        severity: 'error',
        subject: 'C4',
        subjectId: String(failed),
        since,
        detail: 'no credit',
      },
      { ...nothing, kind: 'webhook_failing', severity: 'warning', since: NOON.toISOString() },
      { ...nothing, kind: 'unknown_outcomes', severity: 'warning', count: 3, since: NOON.toISOString() },
      {
        ...nothing,
        kind: 'campaign_paused',
        severity: 'warning',
        subject: 'C2',
        subjectId: String(held),
        since,
        detail: 'template refused',
      },
      {
        ...nothing,
        kind: 'import_failed',
        severity: 'warning',
        subject: 'a.csv',
        subjectId: expect.any(String),
        since,
      },
      {
        ...nothing,
        kind: 'export_failed',
        severity: 'warning',
        subject: 'HISTORY',
        subjectId: expect.any(String),
        since,
        detail: 'disk full',
      },
      {
        ...nothing,
        kind: 'social_disconnected',
        severity: 'warning',
        subject: 'Shop',
        subjectId: 'google',
        detail: 'revoked',
      },
      {
        ...nothing,
        kind: 'template_rejected',
        severity: 'warning',
        subject: 'offer',
        subjectId: `t${accountId}`,
        since,
        detail: 'spam',
      },
    ]);
    await exec(
      pool,
      sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'gone' WHERE account_id = ${accountId}`,
    );
    expect(await attention()).toContainEqual(
      expect.objectContaining({ kind: 'webhook_disabled', severity: 'error', detail: 'gone' }),
    );
    const few = async (...operations: Scope[]) => {
      const { body } = await get('', await newKey(pool, account, operations));
      return [body.campaigns.length, body.attention.map(({ kind }: Item) => kind)];
    };
    expect(await few('tracking')).toEqual([0, ['unknown_outcomes']]);
    expect(await few('tracking', 'exports')).toEqual([0, ['unknown_outcomes', 'export_failed']]);
  });

  test('every user sees that sending is paused', async () => {
    await exec(pool, sql`UPDATE restore_guard SET state = 'paused', reason = 'a copy', since = ${NOON}`);
    const [item] = await attention();
    await exec(pool, sql`UPDATE restore_guard SET state = 'open'`);
    expect(item).toMatchObject({
      kind: 'sending_paused',
      severity: 'error',
      detail: 'a copy',
      since: NOON.toISOString(),
    });
  });

  test('a connection that is down or paused is an error unless another one takes its numbers; down, it is a warning then', async () => {
    const [first, second] = [await newConnection('first'), await newConnection('second')];
    for (const connectionId of [first, second])
      await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId, priority: connectionId });
    const down = async () => (await attention()).map(({ kind, severity, ...item }) => ({ kind, severity, ...item }));
    const isDown = { kind: 'carrier_down', severity: 'error' };
    expect(await down()).toMatchObject([
      { ...isDown, subject: 'first' },
      { ...isDown, subject: 'second' },
    ]);
    const seen = { worker: 1, up: true, bindsUp: 1, bindsWanted: 1, fault: null };
    await insertConnectionStatus(pool, { connectionId: second, ...seen });
    expect(await down()).toMatchObject([{ ...isDown, severity: 'warning', subject: 'first' }]);
    await exec(pool, sql`UPDATE account SET channels = 2 WHERE id = ${account.accountId}`);
    expect(await down()).toEqual([]);
    await exec(pool, sql`UPDATE account SET channels = 7 WHERE id = ${account.accountId}`);
    await exec(pool, sql`UPDATE connection SET status = 'paused' WHERE id = ${first}`);
    expect(await down()).toEqual([]);
    await exec(pool, sql`UPDATE connection SET status = 'paused' WHERE id = ${second}`);
    const isPaused = { kind: 'carrier_paused', severity: 'error' };
    expect(await down()).toMatchObject([
      { ...isPaused, subject: 'first' },
      { ...isPaused, subject: 'second' },
    ]);
    await exec(pool, sql`DELETE FROM route`);
  });

  test('an account does not see the connection of another account’s sender', async () => {
    const connectionId = await newConnection('agents');
    const sender = (ownerId: number | null) =>
      exec(
        pool,
        sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
            VALUES ('RCS', ${`agent-${ownerId}`}, ${connectionId}, ${ownerId}, 'A')`,
      );
    await sender(otherAccount.accountId);
    expect(await attention()).toEqual([]);
    await sender(account.accountId);
    expect(await attention()).toMatchObject([{ kind: 'carrier_down', subject: 'agents' }]);
    await exec(pool, sql`DELETE FROM sender`);
  });
});

async function newConnection(name: string): Promise<number> {
  const made = await insertConnection(pool, { name, kind: 'smpp', sandbox: true, settings: {} });
  return made?.id ?? 0;
}

test('the overview contains nothing of other accounts', async () => {
  await count(hoursAgo(0), { sent: 5 });
  await newCampaign(4, { reason: 'x' });
  await newCampaign(2);
  account = await newAccount({ plan: 'production', creditMicros: 1 });
  const { totals, campaigns, attention: items } = await overview();
  expect([totals.today.sent, campaigns, items]).toEqual([0, [], []]);
});

test('a caller without the scope money sees neither credit nor cost, nor that credit is low', async () => {
  await count(hoursAgo(0), { sent: 5 });
  account = await newAccount({ plan: 'production', creditMicros: 0 });
  const kindsOf = ({ attention: items }: { attention: readonly { kind: string }[] }) => items.map(({ kind }) => kind);
  const { body: all } = await get('', await newKey(pool, account, ['tracking', 'money']));
  expect([all.credit.available, all.totals.today.cost, kindsOf(all)]).toEqual([0, 0, ['low_credit']]);
  const { body: few } = await get('', await newKey(pool, account, ['tracking']));
  expect([few.credit, few.totals.today.cost, kindsOf(few)]).toEqual([null, null, []]);
});

test('the overview requires the scope tracking and covers at most a week', async () => {
  expect((await get('', await newKey(pool, account, ['SMS']))).status).toBe(403);
  for (const hours of ['0', '169', 'x']) expect((await get(`?hours=${hours}`, account.apiKey)).status).toBe(400);
});

test('hours, newest messages and open campaigns are read by index, whatever is in the tables', async () => {
  const { accountId } = account;
  await exec(
    pool,
    sql`INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
        SELECT ${accountId}, uuidv7(), 'SMS', 'API', false, 'ACME', '+351912345678', 'x', 1, true
        FROM generate_series(1, 20000) AS n`,
  );
  await exec(
    pool,
    sql`INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, sent)
        SELECT ${accountId}, date_trunc('hour', now()) - h * interval '1 hour', c, 1, -1, 1
        FROM generate_series(0, 2000) AS h, generate_series(0, 9) AS c ON CONFLICT DO NOTHING`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at)
        SELECT ${accountId}, 'C', 3, 'SMS', now() FROM generate_series(1, 5000)`,
  );
  await exec(pool, sql`ANALYZE message, traffic_hour, campaign`);
  const db = tenant(pool, { accountId });
  const hours = await explain(db, (to) => listHours(to, { accountId, from: hoursAgo(48) }));
  expect(hours).toMatchObject([{ condition: expect.stringContaining('hour >= ') }]);
  const newest = await explain(db, (to) =>
    countAccepted(to, { accountId, firstId: firstIdAt(hoursAgo(0)), limit: 5000 }).catch(() => undefined),
  );
  const ofMessages = newest.filter(({ table }) => table?.startsWith('message'));
  expect(ofMessages.length).toBeGreaterThan(0);
  for (const { how, condition } of ofMessages)
    expect([how, condition]).toEqual(['Index Scan', expect.stringMatching(/id >= /)]);
  const open = await explain(db, (to) => listActiveCampaigns(to, { accountId, sending: 10, scheduled: 5 }));
  const ofCampaigns = open.filter(({ table }) => table === 'campaign');
  expect(ofCampaigns.map(({ index }) => index)).toEqual(['campaign_active', 'campaign_active']);
});
