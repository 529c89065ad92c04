import type { Pool } from 'pg';
import type { SendingMode } from '../../../src/campaigns/audience.ts';
import { type CampaignRunner, createCampaignRunner } from '../../../src/campaigns/runner.ts';
import type { Outcome } from '../../../src/channels/carrier.ts';
import { CHANNELS, type Channel, type Purpose } from '../../../src/core/channels.ts';
import { type Db, exec, many, one, sql } from '../../../src/core/db/query.ts';
import { transaction } from '../../../src/core/db/transaction.ts';
import { silentLog } from '../../../src/core/log.ts';
import { STATUS, type StatusName } from '../../../src/core/message-state.ts';
import type { Job } from '../../../src/dispatch/held.ts';
import type { Waker } from '../../../src/dispatch/pump.ts';
import { endMessages } from '../../../src/messages/end.ts';
import type { OptOutLinks } from '../../../src/messages/opt-out-links.ts';
import { createRecentMessages } from '../../../src/messages/new-messages.ts';
import type { Revoke } from '../../../src/messages/next-channel.ts';
import type { Lookups } from '../../../src/messages/prepare.ts';
import { settleOutcomes } from '../../../src/messages/settle.ts';
import { freeze } from '../../../src/money/credit.ts';
import { insertConnection } from '../../../src/routing/connection-store.ts';
import { insertRoute } from '../../../src/routing/routes.ts';
import { NO_SENDER_RULES, type SenderRules } from '../../../src/routing/sender-rules.ts';
import { insertTemplate } from '../../../src/templates/store.ts';
import { freeOver } from '../drafts.ts';
import { createAccountWithCredit } from '../money.ts';

export const PRICE_MICROS = 10_000;

export type Confirmed = {
  readonly mode?: SendingMode;
  readonly numbers: readonly string[];
  /** The country of each number; Italy if absent. */
  readonly countries?: readonly string[];
  readonly purpose?: Purpose;
  readonly body?: string;
  readonly scheduledInMinutes?: number;
  readonly rate?: number;
  readonly quietHours?: object;
  readonly fallback?: object;
  /** The credit reserved for it; enough for all recipients if absent. */
  readonly reservedMicros?: number;
  /** True if the price of undelivered messages is refunded. */
  readonly refundUndelivered?: boolean;
};

export type SentMessage = { id: string; destination: string; channel: Channel; status: number | null; price: number };

/** A database in which campaigns run without carriers: the test decides what becomes of messages. */
export type CampaignStage = {
  readonly accountId: number;
  readonly campaigns: CampaignRunner;
  readonly tables: Lookups;
  /** Stores a campaign as its confirmation leaves it; returns its id. */
  confirmed(settings: Confirmed): Promise<number>;
  /** Lets workers do everything that is due. */
  run(): Promise<void>;
  /** Lets this much time pass for all campaigns. */
  pass(seconds: number): Promise<void>;
  messages(campaignId: number): Promise<SentMessage[]>;
  /** Returns the newest message to a number. */
  last(campaignId: number, destination?: string): Promise<SentMessage>;
  /** Reports that a carrier accepted messages. */
  accept(ids: readonly string[]): Promise<void>;
  /** Reports that a carrier did not respond. */
  doubt(ids: readonly string[]): Promise<void>;
  /** Reports that a carrier refused messages. */
  refuse(ids: readonly string[]): Promise<void>;
  /** Reports a final state: by a receipt, or by our own timer. */
  end(ids: readonly string[], status: StatusName, errorCode?: string): Promise<void>;
};

const IDLE: Waker = { wake() {}, wakeHere() {}, setShared() {}, onWake: () => () => {} };

export async function openCampaignStage(
  pool: Pool,
  revoke: Revoke = { reaches: () => true, ask: () => Promise.resolve(false) },
  onRoute: () => void = () => undefined,
  senderRules: SenderRules = NO_SENDER_RULES,
  links: OptOutLinks = {},
): Promise<CampaignStage> {
  const accountId = await createAccountWithCredit(pool, 1_000_000_000);
  const connection = { name: `carrier-${accountId}`, kind: 'smpp', sandbox: false, settings: {} } as const;
  const connectionId = (await insertConnection(pool, connection))?.id ?? 0;
  await insertTemplates(pool, connectionId);
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId, priority: 100 });
  const recentMessages = createRecentMessages();
  const findRoute = () => {
    onRoute();
    return [connectionId];
  };
  const tables = { ...freeOver(findRoute), senderRules, ...links };
  const deps = { pool, tables, waker: IDLE, recentMessages, paused: () => false, log: silentLog };
  const campaigns = createCampaignRunner({ ...deps, revoke });

  async function runOnce(): Promise<void> {
    for (const campaignId of await campaignIds(pool)) campaigns.wake(campaignId);
    while ((await campaigns.runDue()) === 0);
    await campaigns.stop();
  }

  /** Network responses are processed in parallel with the steps: what follows from the last response happens in the second round. */
  async function run(): Promise<void> {
    await runOnce();
    await runOnce();
  }

  /** Handles a carrier's response as the pump does. */
  const settle = (ids: readonly string[], outcome: Outcome): Promise<void> =>
    transaction(pool, async (tx) => {
      await exec(tx, sql`DELETE FROM dispatch_chunk WHERE ids && ${ids}::uuid[]`);
      const fixed = { accountId, connectionId, attempt: 1, answeredAt: new Date(), resubmit: false, outcome };
      const jobs = await listJobs(tx, ids);
      await settleOutcomes(
        tx,
        jobs.map((job) => ({ ...fixed, messageId: job.messageId, job })),
        true,
      );
    });

  return {
    accountId,
    campaigns,
    tables,
    run,
    confirmed: (settings) => confirm(pool, accountId, settings),
    async pass(seconds) {
      const earlier = sql`- ${seconds} * interval '1 second'`;
      await exec(pool, sql`UPDATE campaign SET scheduled_at = scheduled_at ${earlier}`);
      await exec(pool, sql`UPDATE campaign_batch SET due_at = due_at ${earlier}, created_at = created_at ${earlier}`);
      await exec(pool, sql`UPDATE campaign_outcome SET due_at = due_at ${earlier}`);
      await exec(pool, sql`UPDATE message_state SET submitted_at = submitted_at ${earlier}`);
    },
    messages: (campaignId) => listMessages(pool, campaignId),
    async last(campaignId, destination) {
      const all = await listMessages(pool, campaignId);
      const own = all.filter((message) => destination === undefined || message.destination === destination);
      const newest = own.at(-1);
      if (!newest) throw new Error('no message was made');
      return newest;
    },
    accept: (ids) => settle(ids, { kind: 'accepted', carrierIds: ['x'] }),
    doubt: (ids) => settle(ids, { kind: 'unknown', text: 'no response', carrierIds: [] }),
    refuse: (ids) => settle(ids, { kind: 'refused', status: 'REJECTED', code: '8', text: 'no', carrierIds: [] }),
    end: (ids, status, errorCode) =>
      transaction(pool, async (tx) => {
        const move = { accountId, status: STATUS[status], doneAt: new Date(), errorText: null };
        await endMessages(
          tx,
          ids.map((id) => ({ ...move, id, errorCode: errorCode ?? null })),
        );
      }),
  };
}

/** Inserts the templates that its campaigns use: approved, and shared by all accounts. */
async function insertTemplates(pool: Pool, connectionId: number): Promise<void> {
  const common = { ownerId: null, name: 'offer', language: 'en', category: '', status: 'APPROVED', headerLink: null };
  const plain = { ...common, named: false, variables: [] };
  const content = [{ type: 'BODY', text: 'Hello' }];
  await insertTemplate(pool, {
    ...plain,
    channel: 'RCS',
    id: 'template',
    connectionId: null,
    content: { text: 'Hello' },
  });
  await insertTemplate(pool, { ...plain, channel: 'WHATSAPP', id: '2', connectionId, content });
}

const listJobs = (tx: Db, ids: readonly string[]): Promise<Job[]> =>
  many(
    tx,
    sql`SELECT m.id AS "messageId", destination, sender, body, NULL AS "validUntil", true AS "wantReceipt", parts,
               price_micros AS "priceMicros", refund_undelivered AS "refundUndelivered", channel,
               campaign_id AS "campaignId", keeps_reserve AS "keepsReserve"
        FROM message m WHERE m.id = ANY(${ids}::uuid[])`,
  );

async function campaignIds(pool: Pool): Promise<number[]> {
  return (await many<{ id: number }>(pool, sql`SELECT campaign_id AS id FROM campaign_job`)).map(({ id }) => id);
}

const listMessages = (pool: Pool, campaignId: number): Promise<SentMessage[]> =>
  many(
    pool,
    sql`SELECT m.id, m.destination, m.channel, m.price_micros AS price, s.status FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE m.campaign_id = ${campaignId} ORDER BY m.id`,
  );

async function confirm(pool: Pool, accountId: number, settings: Confirmed): Promise<number> {
  const { mode = 'SMS', numbers, body = 'Hello', refundUndelivered = true } = settings;
  const prices = CHANNELS.map((channel) => ({ channel, prefix: '', unitMicros: PRICE_MICROS, refundUndelivered }));
  const reservedMicros = settings.reservedMicros ?? numbers.length * PRICE_MICROS * (refundUndelivered ? 1 : 3);
  const minutes = settings.scheduledInMinutes ?? null;
  return transaction(pool, async (tx) => {
    const { id } = await one<{ id: number }>(
      tx,
      sql`INSERT INTO campaign (account_id, name, status, sending_mode, sms_sender, sms_body, rcs_agent_id,
            rcs_template_id, whatsapp_phone_number_id, whatsapp_template_id, destination_type, numbers,
            number_countries, number_channels, scheduled_at, ready_to_send, fallback, quiet_hours, rate, purpose, audience,
            reserved_micros, confirmed_at, started_at)
          VALUES (${accountId}, 'Spring', ${minutes === null ? 2 : 1}, ${mode}, 'ACME', ${body}, 'agent', 'template',
            '1', '2', 2, ${[...numbers].sort()}::text[], ${settings.countries ?? numbers.map(() => 'IT')}::text[],
            ${numbers.map(() => 7)}::smallint[], now() + ${minutes}::float8 * interval '1 minute', true,
            ${JSON.stringify(settings.fallback ?? {})}::jsonb,
            ${settings.quietHours ? JSON.stringify(settings.quietHours) : null}::jsonb, ${settings.rate ?? null},
            ${settings.purpose ?? null}, ${JSON.stringify({ prices })}::jsonb, ${reservedMicros}, now(),
            CASE WHEN ${minutes}::float8 IS NULL THEN now() END)
          RETURNING id`,
    );
    await exec(
      tx,
      sql`INSERT INTO campaign_run (account_id, campaign_id, unused_micros) VALUES (${accountId}, ${id}, ${reservedMicros})`,
    );
    await exec(tx, sql`INSERT INTO campaign_job (campaign_id, account_id) VALUES (${id}, ${accountId})`);
    await freeze(tx, [{ accountId, micros: reservedMicros }], `campaign:${id}`);
    return id;
  });
}
