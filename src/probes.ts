import type { Command } from 'commander';
import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { CommandContext } from './core/cli.ts';
import { sharesSessions } from './core/db/migrate.ts';
import { findWritability } from './core/db/reports.ts';
import type { Probe } from './core/http/health.ts';
import { createNodeServer } from './core/http/server.ts';
import { countDueJobs } from './core/jobs.ts';
import { countDropped } from './core/mail.ts';
import { loadSecretKey } from './core/secrets.ts';
import { countLost } from './dispatch/claims.ts';
import { listQueueDepths } from './dispatch/store.ts';
import { countUndecided } from './messages/suspected.ts';
import { listBillingGaps } from './messages/network-billing.ts';
import { countUnmatched } from './messages/receipt-store.ts';
import { findGuardStatus } from './messages/restore-guard.ts';
import { countUnknowns } from './messages/unknown-outcomes.ts';
import { countNotices, countOpen, findEvaluation } from './operate/alert-store.ts';
import { examine } from './operate/doctor.ts';
import { checkFromOutside, type Finding } from './operate/doctor-checks.ts';
import { listConnectionStatus, listConnections, STARTS_LATER } from './routing/connection-store.ts';
import { listLimits } from './routing/messaging-limits.ts';
import { countUsedUp } from './routing/number-lookups.ts';
import { countBinds } from './smpp-server/sign-in.ts';
import { countDisabled } from './webhooks/account-queue.ts';
import { countEvents } from './webhooks/delivery-log.ts';
import { countDeliveries } from './webhooks/smpp-outbox.ts';

/**
 * Interval of the check for a pooler that shares sessions, which takes two connections at a time; and the interval once
 * one is found.
 */
const ASK_MS = 15_000;
const SHARED_AGAIN_MS = 2000;

/** Creates the checks of /health/ready: the database, and the things that accepted messages may be waiting for. */
export const createProbes = (pool: Pool): Probe[] => [
  {
    name: 'database',
    critical: true,
    async check() {
      const found = await findWritability(pool).catch(() => null);
      // With several servers, those that accept no writes are not used: we only know that there is no primary.
      if (found === null) return { ok: false, detail: 'does not respond, or accepts no writes' };
      const { readOnly, waitingCommits } = found;
      if (readOnly) return { ok: false, detail: 'accepts no writes' };
      if (waitingCommits > 0)
        return { ok: false, detail: `${waitingCommits} commits have waited for a standby for 2 s or more` };
      return { ok: true, detail: 'accepts writes' };
    },
  },
  createSessionsProbe(pool),
  {
    // Not critical: messages are accepted, and wait for the operator's decision.
    name: 'sending',
    critical: false,
    async check() {
      const { state, reason } = await findGuardStatus(pool);
      return state === 'paused' ? { ok: false, detail: `paused: ${reason}` } : { ok: true, detail: 'not paused' };
    },
  },
  {
    // Not critical: messages are accepted, and wait while a carrier is unavailable.
    name: 'carriers',
    critical: false,
    async check() {
      const all = await listConnectionStatus(pool);
      const active = all.filter((connection) => connection.status === 'active');
      const later = all.filter(({ startsLater }) => startsLater).map(({ name }) => `; ${name} ${STARTS_LATER}`);
      const down = active.filter((connection) => !connection.up).map((connection) => connection.name);
      const ok = active.length > 0 && down.length === 0;
      if (ok) return { ok, detail: `${active.length} up${later.join('')}` };
      const fault = active.length === 0 ? 'no connection is configured' : `down: ${down.join(', ')}`;
      return { ok, detail: `${fault}${later.join('')}` };
    },
  },
];

/**
 * Creates the check that each connection still has its own session, since a pooler can be changed at any time. It
 * returns the last result and repeats the check in the background: it must not fail while the pool is busy.
 */
function createSessionsProbe(pool: Pool): Probe {
  let askedAt = performance.now();
  let isShared = false;

  async function ask(): Promise<void> {
    askedAt = performance.now();
    // A failing connection is reported by the check above.
    isShared = await sharesSessions(pool).catch(() => isShared);
  }

  return {
    name: 'sessions',
    critical: true,
    async check() {
      if (performance.now() - askedAt >= (isShared ? SHARED_AGAIN_MS : ASK_MS)) void ask();
      return isShared
        ? { ok: false, detail: 'a pooler shares them: set its pool_mode to session' }
        : { ok: true, detail: 'one for each connection' };
    },
  };
}

type Reading = { readonly connection: string; readonly value: number };
type Names = ReadonlyMap<number, string>;

/** Registers the gauges that read the database: each scrape takes one query per gauge, and one for connection names. */
export function registerGauges(registry: Registry, pool: Pool): void {
  registerConnectionGauges(registry, pool);
  registerBillingGauge(registry, pool);
  registerWebhookGauges(registry, pool);
  registerSmppGauges(registry, pool);
  registerAlertGauges(registry, pool);
  new Gauge({
    name: 'heliograph_jobs_due',
    help: 'Due jobs of background work, by kind; those that run included',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { kind, count } of await countDueJobs(pool)) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'heliograph_lookup_budgets_used_up',
    help: 'Accounts whose paid network lookups of today are used up',
    registers: [registry],
    async collect() {
      this.set(await countUsedUp(pool));
    },
  });
  new Gauge({
    name: 'heliograph_opt_out_wishes',
    help: 'Messages that probably ask for no more messages and wait for a decision',
    registers: [registry],
    async collect() {
      this.set((await countUndecided(pool)).count);
    },
  });
  new Gauge({
    name: 'heliograph_opt_out_wishes_oldest_seconds',
    help: 'Age of the oldest message that probably asks for no more messages and waits for a decision',
    registers: [registry],
    async collect() {
      this.set((await countUndecided(pool)).oldestSeconds);
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

/** The comparison of charges by category; the worse of today and yesterday. */
function registerBillingGauge(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'heliograph_billing_differing_ratio',
    help: 'Share of the messages of a category that the network charges otherwise than we do, today or yesterday',
    labelNames: ['category'],
    registers: [registry],
    async collect() {
      this.reset();
      const shares = new Map<string, number>();
      for (const { category, messages, differing } of await listBillingGaps(pool))
        shares.set(category, Math.max(shares.get(category) ?? 0, differing / messages));
      for (const [category, share] of shares) this.set({ category }, share);
    },
  });
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
  gauge('outcomes_unknown', 'Messages written to the carrier that never got a response', async (names) =>
    (await countUnknowns(pool)).map((u) => ({ connection: nameOf(names, u.connectionId), value: u.count })),
  );
  gauge('messages_lost', 'Messages that were in the queue and do not exist: they are not sent', async (names) =>
    (await countLost(pool)).map((q) => ({ connection: nameOf(names, q.connectionId), value: q.messages })),
  );
  gauge(
    'whatsapp_limit_people',
    'People to whom the portfolio of the connection may write first in 24 hours',
    async () => (await listLimits(pool)).map(({ connection, people: value }) => ({ connection, value })),
  );
  gauge('whatsapp_limit_used', 'People to whom it has written first in the last 24 hours', async () =>
    (await listLimits(pool)).map(({ connection, used: value }) => ({ connection, value })),
  );
  gauge('receipts_unmatched', 'Receipts that match no message, or several', async (names) =>
    (await countUnmatched(pool)).map((u) => ({ connection: nameOf(names, u.connectionId), value: u.count })),
  );
}

/**
 * `doctor`: checks database, sending, clock, disk, files, TLS, secrets and carriers, and suggests fixes. The exit code
 * is 1 when a check fails.
 */
export function registerDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('check database, sending, clock, disk, files, TLS, secrets and carriers, and suggest fixes')
    .option('--from-outside', 'also call PUBLIC_URL by its public name, and check that this installation responds')
    .action(async ({ fromOutside }: { readonly fromOutside?: true }) => {
      const config = context.config();
      const makeServer = (): unknown => createNodeServer(config, () => undefined);
      const findings = [
        ...(await context.withDatabase((pool) => examine({ config, pool, makeServer }))),
        ...(fromOutside ? [await checkFromOutside(config, await loadSecretKey(config))] : []),
      ];
      const ok = findings.every((finding) => finding.ok);
      context.report(findings, (all) => all.map(showFinding).join('\n'), ok);
    });
}

/** Formats a finding as a line, with its advice. */
const showFinding = ({ name, ok, detail, advice }: Finding): string =>
  `${ok ? 'ok  ' : 'BAD '} ${name}: ${detail}${advice && !ok ? `\n     ${advice}` : ''}`;
