import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { listConnectionStatus } from '../network/connections/sql.ts';
import { listQueueDepths } from '../network/dispatch/sql.ts';
import { countUnmatched } from '../messaging/receipts/sql.ts';
import { countUnknowns } from '../messaging/unknown-outcomes/sql.ts';
import { countEvents } from '../messaging/webhooks/delivery-log/sql.ts';
import { countDisabled } from '../messaging/webhooks/delivery/targets/sql.ts';

type Reading = { readonly connection: string; readonly value: number };
type Names = ReadonlyMap<number, string>;

/** Adds what the database knows of the traffic; read at each scrape, one query a gauge. */
export function registerGauges(registry: Registry, pool: Pool): void {
  registerConnectionGauges(registry, pool);
  registerWebhookGauges(registry, pool);
}

function registerWebhookGauges(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'heliograph_webhook_events',
    help: 'Events that wait for their first attempt or for another one, and that were given up and can be replayed',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await countEvents(pool))) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'heliograph_webhooks_disabled',
    help: 'Webhooks that nothing is sent to any more',
    registers: [registry],
    async collect() {
      this.set(await countDisabled(pool));
    },
  });
}

function registerConnectionGauges(registry: Registry, pool: Pool): void {
  const names = async (): Promise<Names> => new Map((await listConnectionStatus(pool)).map((c) => [c.id, c.name]));
  const gauge = (name: string, help: string, read: (names: Names) => Promise<Reading[]>): void => {
    new Gauge({
      name: `heliograph_${name}`,
      help,
      labelNames: ['connection'],
      registers: [registry],
      async collect() {
        this.reset();
        for (const { connection, value } of await read(await names())) this.set({ connection }, value);
      },
    });
  };
  const named = (known: Names, id: number): string => known.get(id) ?? `#${id}`;

  gauge('connection_up', '1 when a bind of the connection can submit', async () =>
    (await listConnectionStatus(pool)).map((c) => ({ connection: c.name, value: c.up ? 1 : 0 })),
  );
  gauge('queue_messages', 'Messages that wait for the carrier', async (n) =>
    (await listQueueDepths(pool)).map((q) => ({ connection: named(n, q.connectionId), value: q.messages })),
  );
  gauge('queue_oldest_seconds', 'Age of the oldest message that is due', async (n) =>
    (await listQueueDepths(pool)).map((q) => ({ connection: named(n, q.connectionId), value: q.oldestSeconds })),
  );
  gauge('outcomes_unknown', 'Messages written to the carrier whose answer never came', async (n) =>
    (await countUnknowns(pool)).map((u) => ({ connection: named(n, u.connectionId), value: u.count })),
  );
  gauge('receipts_unmatched', 'Receipts that fit no message, or several', async (n) =>
    (await countUnmatched(pool)).map((u) => ({ connection: named(n, u.connectionId), value: u.count })),
  );
}
