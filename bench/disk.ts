import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { silentLog } from '../src/core/log.ts';
import { createMetrics } from '../src/core/metrics.ts';
import { receiveIntoInbox } from '../src/inbox/receive.ts';
import { createInboundInbox } from '../src/messages/inbound.ts';
import { sendCampaign } from './campaign.ts';
import { type Costs, costFigures, countCosts } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { deliveredCount, type Stage, sendBulk, until } from './lib/stage.ts';
import { BODY, destinationOf } from './lib/traffic.ts';
import { openWebhookStage } from './lib/webhook-stage.ts';
import { registerWebhook } from './webhooks.ts';

const MESSAGES = Number(process.argv[3] ?? 20_000);
/** Each table has its first pages, and each index its first levels, before anything is measured. */
const WARM_UP = 5_000;
/** Disk space of an SMS of one part in bytes, as docs/how-to/capacity-planning.md states it. */
const STATED_BYTES = 900;
/** 314 characters of GSM 03.38: three parts. */
const LONG = Array.from({ length: 4 }, () => BODY).join(' ');
const NUMBER = '4400';
const CONCURRENCY = 64;

/**
 * Measures the disk space and the write-ahead log of a message, by kind of message: the growth of all tables of facts
 * with their indexes, divided by the messages. Not counted: queues, whose space the next message reuses; the indexes of
 * past days, which are built later; contacts, which stay.
 */
export async function benchDisk(): Promise<Report> {
  await using opened = await openWebhookStage();
  const { stage, receiver } = opened;
  const figures = await measureAll(stage, `https://localhost:${receiver.port}/`);
  return { name: 'disk', ratio: STATED_BYTES / (figures['onePart.bytes'] ?? 0), target: 0.9, figures };
}

async function measureAll(stage: Stage, webhookUrl: string): Promise<Record<string, number>> {
  const bulk = (text?: string) => (messages: number) => sendBulk(stage, messages, text);
  const onePart = await measure(stage, 'onePart', bulk());
  const threeParts = await measure(stage, 'threeParts', bulk(LONG));
  const single = await measure(stage, 'single', (messages) => sendSingles(stage, messages));
  const campaign = await measure(stage, 'campaign', async (messages) => (await sendCampaign(stage, messages)).costs);
  const inbound = await measure(stage, 'inbound', await inboundTo(stage));
  await registerWebhook(stage, stage.apiKey, webhookUrl);
  const webhooks = await measure(stage, 'webhooks', async (messages) => {
    await sendBulk(stage, messages);
    await until(async () => (await stage.pool.query('SELECT 1 FROM webhook_outbox LIMIT 1')).rowCount === 0);
  });
  return { messages: MESSAGES, ...onePart, ...threeParts, ...single, ...campaign, ...inbound, ...webhooks };
}

/**
 * Bytes on the disk for each message, in all and by the tables that take more than one, and what `send` has cost: as it
 * says itself if it does more than to send.
 */
async function measure(
  stage: Stage,
  name: string,
  send: (messages: number) => Promise<unknown>,
): Promise<Record<string, number>> {
  await send(WARM_UP);
  const before = await readSizes(stage.pool);
  const costsOf = await countCosts(stage);
  const own = await send(MESSAGES);
  const costs = isCosts(own) ? own : await costsOf(MESSAGES);
  const after = await readSizes(stage.pool);
  const indexes = (sum(after, 'indexes') - sum(before, 'indexes')) / MESSAGES;
  const grown = [...after].map(
    ([table, size]) => [table, (size.all - (before.get(table)?.all ?? 0)) / MESSAGES] as const,
  );
  const bytes = (sum(after, 'all') - sum(before, 'all')) / MESSAGES;
  const large = grown.filter(([, each]) => each > 1);
  return Object.fromEntries([
    [`${name}.bytes`, Math.round(bytes)],
    [`${name}.ofTheseIndexes`, Math.round(indexes)],
    ...large.map(([table, each]) => [`${name}.${table}`, Math.round(each)] as const),
    ...Object.entries(costFigures(name, costs)),
  ]);
}

const isCosts = (value: unknown): value is Costs =>
  typeof value === 'object' && value !== null && 'walBytesPerMessage' in value;

type Size = { readonly all: number; readonly indexes: number };
type Sizes = ReadonlyMap<string, Size>;

const sum = (sizes: Sizes, of: keyof Size): number => [...sizes.values()].reduce((all, size) => all + size[of], 0);

/** The size of each table of facts but contacts, with its indexes and all its partitions. */
async function readSizes(pool: Pool): Promise<Sizes> {
  const { rows } = await pool.query<{ table: string; size: string; indexes: string }>(
    `SELECT c.relname AS table, sum(pg_total_relation_size(t.oid)) AS size, sum(pg_indexes_size(t.oid)) AS indexes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (SELECT c.oid UNION SELECT relid FROM pg_partition_tree(c.oid)) AS t
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND obj_description(c.oid, 'pg_class') = 'facts'
       AND c.relname NOT LIKE 'contact%' GROUP BY 1`,
  );
  return new Map(rows.map(({ table, size, indexes }) => [table, { all: Number(size), indexes: Number(indexes) }]));
}

/** Sends one message in each request, with the client's own id, and waits for the receipts. */
async function sendSingles(stage: Stage, messages: number): Promise<void> {
  const { address, apiKey } = stage;
  const expected = (await deliveredCount(stage)) + messages;
  let left = messages;
  const series = randomUUID();
  const post = async (): Promise<void> => {
    for (let n = left--; n > 0; n = left--) {
      const answer = await fetch(`${address}/api/message-server/sms/send`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ phoneNumber: destinationOf(n), message: BODY, customerMessageId: `${series}-${n}` }),
      });
      if (!answer.ok) throw new Error(`returned ${answer.status}: ${await answer.text()}`);
      await answer.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, post));
  await until(async () => (await deliveredCount(stage)) >= expected);
}

/** Returns a function that receives messages to a number of the account, each from another person. */
async function inboundTo({ pool, operate }: Stage): Promise<(messages: number) => Promise<unknown>> {
  await operate('number', 'assign', '--number', NUMBER, '--connection', 'bench', '--account', 'Demo');
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM connection WHERE name = 'bench'`);
  const connectionId = Number(rows[0]?.id);
  const receive = createInboundInbox({ log: silentLog, metrics: createMetrics(), pool, onInbound: receiveIntoInbox });
  let next = 0;
  return (messages) =>
    Promise.all(
      Array.from({ length: messages }, () => {
        const source = destinationOf(next++).slice(1);
        const inbound = { source, destination: NUMBER, text: BODY, concat: null, raw: Buffer.from(BODY) };
        return receive({ connectionId, inbound });
      }),
    );
}
