import { Registry } from 'prom-client';
import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../test/support/database.ts';
import { registerWebhook } from '../test/support/http/webhook.ts';
import { queueMessages } from '../test/support/queue.ts';
import { receipt } from '../test/support/receipts.ts';
import { reset } from '../test/support/reset.ts';
import { exec, sql } from './core/db/query.ts';
import { newId } from './core/ids.ts';
import { insertUnknowns } from './messages/end.ts';
import { insertUnmatched } from './messages/receipt-store.ts';
import { registerGauges } from './probes.ts';
import { insertConnection, insertConnectionStatus } from './routing/connection-store.ts';
import { publishEvents } from './webhooks/outbox.ts';

const { pool } = testDatabase();

const registry = new Registry();
beforeAll(async () => {
  registerGauges(registry, pool);
  await insertConnection(pool, { name: 'carrier', kind: 'smpp', sandbox: false, settings: {} });
});

const scrape = async (): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

const IDLE = [
  'heliograph_connection_up{connection="carrier"} 0',
  'heliograph_webhook_events{state="fresh"} 0',
  'heliograph_webhook_events{state="waiting"} 0',
  'heliograph_webhook_events{state="dead"} 0',
  'heliograph_webhooks_disabled 0',
  'heliograph_smpp_binds 0',
  'heliograph_smpp_deliveries_waiting 0',
  'heliograph_smpp_deliveries_oldest_seconds 0',
  'heliograph_alert_notices_waiting 0',
  expect.stringMatching(/^heliograph_alerts_evaluated_seconds \d/),
  'heliograph_lookup_budgets_used_up 0',
  'heliograph_opt_out_wishes 0',
  'heliograph_opt_out_wishes_oldest_seconds 0',
  'heliograph_mails_dropped 0',
];

test('an idle gateway shows its connections as down and nothing else', async () => {
  expect(await scrape()).toEqual(IDLE);
});

test('queue, unknown outcomes, unmatched receipts and binds are labelled with the name of the connection', async () => {
  await queueMessages(pool, { connectionId: 1, count: 3 });
  await queueMessages(pool, { connectionId: 2, count: 1 });
  await exec(pool, sql`UPDATE dispatch_chunk SET available_at = now() - interval '1 hour'`);
  await insertUnknowns(pool, [{ accountId: 1, messageId: newId(), connectionId: 1, reason: 'no response' }]);
  const parked = { receipt: { ...receipt('A1'), doneAt: null }, reason: 'unknown', receivedAt: new Date() } as const;
  await insertUnmatched(pool, [{ ...parked, connectionId: 1, retryMs: 0 }]);
  const status = { connectionId: 1, worker: 1, up: true, bindsUp: 1, bindsWanted: 1, fault: null };
  await insertConnectionStatus(pool, status);
  const lines = await scrape();
  expect(lines).toEqual([
    'heliograph_connection_up{connection="carrier"} 1',
    'heliograph_queue_messages{connection="carrier"} 3',
    'heliograph_queue_messages{connection="#2"} 1',
    expect.stringMatching(/^heliograph_queue_oldest_seconds\{connection="carrier"\} 36\d\d/),
    expect.stringMatching(/^heliograph_queue_oldest_seconds\{connection="#2"\} 36\d\d/),
    'heliograph_outcomes_unknown{connection="carrier"} 1',
    'heliograph_receipts_unmatched{connection="carrier"} 1',
    ...IDLE.slice(1),
  ]);
});

test('the gauges return to their idle values when nothing waits any more', async () => {
  await reset(pool, sql`TRUNCATE dispatch_chunk, unknown_outcome, receipt_unmatched, connection_status`);
  expect(await scrape()).toEqual(IDLE);
});

test('webhook events are counted by what they wait for', async () => {
  await registerWebhook(pool, { accountId: 1, url: 'https://example.com' });
  const event = { accountId: 1, kind: 'DELIVERY', messageId: newId(), status: 3 } as const;
  await publishEvents(pool, [event, { ...event, messageId: newId() }]);
  await exec(pool, sql`INSERT INTO webhook_retry (account_id, id, message_id) VALUES (1, ${newId()}, ${newId()})`);
  await exec(
    pool,
    sql`INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts)
        VALUES (1, ${newId()}, ${newId()}, 'DELIVERY', now(), 'DEAD', 11)`,
  );
  await exec(pool, sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'test'`);
  expect((await scrape()).filter((line) => line.startsWith('heliograph_webhook'))).toEqual([
    'heliograph_webhook_events{state="fresh"} 2',
    'heliograph_webhook_events{state="waiting"} 1',
    'heliograph_webhook_events{state="dead"} 1',
    'heliograph_webhooks_disabled 1',
  ]);
});

test('messages that were queued and do not exist are counted', async () => {
  await exec(
    pool,
    sql`INSERT INTO lost_chunk (account_id, connection_id, priority, attempt, available_at, ids)
        VALUES (1, 9, 1, 0, now(), ${[newId(), newId()]}::uuid[])`,
  );
  expect(await scrape()).toContain('heliograph_messages_lost{connection="#9"} 2');
});
