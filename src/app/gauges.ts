import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { countUnmatched } from '../messaging/receipts/sql.ts';
import { countDeliveries } from '../messaging/smpp-outbox/sql.ts';
import { countBinds } from '../messaging/smpp-server/sql.ts';
import { countUnknowns } from '../messaging/unknown-outcomes/sql.ts';
import { countEvents } from '../messaging/webhooks/delivery-log/sql.ts';
import { countDisabled } from '../messaging/webhooks/delivery/targets/sql.ts';
import { listConnections, listConnectionStatus } from '../network/connections/sql.ts';
import { countUsedUp } from '../network/number-lookups/budget.ts';
import { countLost } from '../network/dispatch/lost/sql.ts';
import { listQueueDepths } from '../network/dispatch/sql.ts';
import { countNotices } from '../operations/operator/alerts/notices/sql.ts';
import { countOpen, findEvaluation } from '../operations/operator/alerts/sql.ts';
import { countDropped } from '../platform/mail/sql.ts';

type Reading = { readonly connection: string; readonly value: number };
type Names = ReadonlyMap<number, string>;

/** Registers the gauges that read the database: each scrape takes one query per gauge, and one for connection names. */
export function registerGauges(registry: Registry, pool: Pool): void {
  registerConnectionGauges(registry, pool);
  registerWebhookGauges(registry, pool);
  registerSmppGauges(registry, pool);
  registerAlertGauges(registry, pool);
  new Gauge({
    name: 'heliograph_lookup_budgets_used_up',
    help: 'Accounts whose paid network lookups of today are used up',
    registers: [registry],
    async collect() {
      this.set(await countUsedUp(pool));
    },
  });
  new Gauge({
    name: 'heliograph_mails_dropped',
    help: 'Copies and notices by email that were dropped in the last day, because the budget of their account or address was used up',
    registers: [registry],
    async collect() {
      this.set(await countDropped(pool));
    },
  });
}

function registerWebhookGauges(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'heliograph_webhook_events',
    help: 'Events waiting for their first or another attempt, and abandoned events that can be sent again',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await countEvents(pool))) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'heliograph_webhooks_disabled',
    help: 'Disabled webhooks: nothing is sent to them',
    registers: [registry],
    async collect() {
      this.set(await countDisabled(pool));
    },
  });
}

function registerAlertGauges(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'heliograph_alerts',
    help: 'Open alerts, by kind: firing, or acknowledged by a user',
    labelNames: ['kind', 'state'],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { count, ...labels } of await countOpen(pool)) this.set(labels, count);
    },
  });
  new Gauge({
    name: 'heliograph_alert_notices_waiting',
    help: 'Notifications that recipients of alerts have not received yet',
    registers: [registry],
    async collect() {
      this.set(await countNotices(pool));
    },
  });
  new Gauge({
    name: 'heliograph_alerts_evaluated_seconds',
    help: 'Time of the last evaluation of all conditions, in seconds since 1970',
    registers: [registry],
    async collect() {
      this.set((await findEvaluation(pool)).at.getTime() / 1000);
    },
  });
}

function registerSmppGauges(registry: Registry, pool: Pool): void {
  const gauge = (name: string, help: string, read: () => Promise<number>): void => {
    new Gauge({
      name: `heliograph_smpp_${name}`,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
  gauge('binds', 'Open binds of customers', () => countBinds(pool));
  gauge(
    'deliveries_waiting',
    'Receipts and inbound messages that wait for receivers of customers',
    async () => (await countDeliveries(pool)).count,
  );
  gauge(
    'deliveries_oldest_seconds',
    'Age of the oldest receipt or inbound message that waits for a receiver; 0 when none does',
    async () => (await countDeliveries(pool)).oldestSeconds ?? 0,
  );
}

function registerConnectionGauges(registry: Registry, pool: Pool): void {
  // Includes the names of a retired sandbox: nothing may wait there unseen.
  const loadNames = async (): Promise<Names> => new Map((await listConnections(pool)).map((c) => [c.id, c.name]));
  const gauge = (name: string, help: string, read: (names: Names) => Promise<Reading[]>): void => {
    new Gauge({
      name: `heliograph_${name}`,
      help,
      labelNames: ['connection'],
      registers: [registry],
      async collect() {
        this.reset();
        for (const { connection, value } of await read(await loadNames())) this.set({ connection }, value);
      },
    });
  };
  const nameOf = (names: Names, id: number): string => names.get(id) ?? `#${id}`;

  gauge('connection_up', '1 when a bind of the connection can submit messages', async () =>
    (await listConnectionStatus(pool)).map((c) => ({ connection: c.name, value: c.up ? 1 : 0 })),
  );
  gauge('queue_messages', 'Messages that wait for the carrier', async (names) =>
    (await listQueueDepths(pool)).map((q) => ({ connection: nameOf(names, q.connectionId), value: q.messages })),
  );
  gauge('queue_oldest_seconds', 'Age of the oldest due message', async (names) =>
    (await listQueueDepths(pool)).map((q) => ({ connection: nameOf(names, q.connectionId), value: q.oldestSeconds })),
  );
  gauge('outcomes_unknown', 'Messages written to the carrier that were never answered', async (names) =>
    (await countUnknowns(pool)).map((u) => ({ connection: nameOf(names, u.connectionId), value: u.count })),
  );
  gauge('messages_lost', 'Messages that were in the queue and do not exist: they are not sent', async (names) =>
    (await countLost(pool)).map((q) => ({ connection: nameOf(names, q.connectionId), value: q.messages })),
  );
  gauge('receipts_unmatched', 'Receipts that match no message, or several', async (names) =>
    (await countUnmatched(pool)).map((u) => ({ connection: nameOf(names, u.connectionId), value: u.count })),
  );
}
