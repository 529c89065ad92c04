import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import { transaction } from '../src/core/db/transaction.ts';
import { STATUS } from '../src/core/message-state.ts';
import { insertMessages } from '../src/messages/new-messages.ts';
import { createAccount } from '../src/operate/account-commands.ts';
import { bodyOf } from '../src/webhooks/events.ts';
import { publishEvents } from '../src/webhooks/outbox.ts';
import { TEST_CERT } from '../test/support/http/certificate.ts';
import { newMessage } from '../test/support/queue.ts';
import { type Costs, countCosts, memoryFigures, ownCpuMicros } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { type Stage, until } from './lib/stage.ts';
import { destinationOf } from './lib/traffic.ts';
import type { Counts, ReceiverProcess } from './lib/webhook-receiver.ts';
import { openWebhookStage } from './lib/webhook-stage.ts';

const EVENTS = Number(process.argv[3] ?? 50_000);
const WARM_UP = Math.min(EVENTS, 20_000);
const CONCURRENCY = 64;
const ENDPOINTS = 1000;
const DEAD = 100;
const ROUNDS = 20;
const ROUND_MS = 1000;
const REGISTER = '/api/partner-gateway/v1/webhooks/delivery-status';

/**
 * Signed and logged deliveries to one receiver with TLS, each acknowledged and committed, compared with bare undici
 * posting the same bodies to it, both warm: the ratio is that of the CPU time of this process, when it posts, to that of
 * the gateway; PostgreSQL is reported separately. Also measures how long after its publication an event arrives at 900 receivers, while
 * 100 others accept connections and never respond.
 */
export async function benchWebhooks(): Promise<Report> {
  await using opened = await openWebhookStage();
  const { stage, receiver } = opened;
  await registerWebhook(stage, stage.apiKey, `https://localhost:${receiver.port}/`);
  await postBare(receiver, WARM_UP);
  await deliver(stage, receiver, WARM_UP);
  const before = await postBare(receiver, EVENTS / 2);
  const own = await deliver(stage, receiver, EVENTS);
  const after = await postBare(receiver, EVENTS / 2);
  const spread = await deliverToMany(stage, receiver);
  const bareCpu = (before.cpuMicros + after.cpuMicros) / 2;
  const bare = (before.perSecond + after.perSecond) / 2;
  return {
    name: 'webhooks',
    ratio: bareCpu / own.costs.gatewayCpuMicrosPerMessage,
    target: 0.65,
    figures: {
      events: EVENTS,
      deliveriesPerSecond: Math.round(own.perSecond),
      bareUndiciPerSecond: Math.round(bare),
      bareUndiciCpuMicros: bareCpu,
      ...own.costs,
      ...memoryFigures(stage),
      endpoints: ENDPOINTS,
      deadEndpoints: DEAD,
      healthyArrived: spread.received,
      healthyExpected: (ENDPOINTS - DEAD) * ROUNDS,
      healthyP50Ms: spread.p50Ms,
      healthyP99Ms: spread.p99Ms,
      healthyP99TargetMs: 2000,
    },
  };
}

const messagesOf = (accountId: number, count: number) =>
  Array.from({ length: count }, (_, n) => newMessage({ accountId, destination: destinationOf(n) }));

const deliveredOf = ({ accountId, id }: { accountId: number; id: string }) =>
  ({ accountId, kind: 'DELIVERY', messageId: id, status: STATUS.DELIVERED, at: new Date(), error: null }) as const;

/** Returns how many requests per second undici posts when it has nothing else to do, and what a request costs. */
async function postBare(receiver: ReceiverProcess, count: number): Promise<{ perSecond: number; cpuMicros: number }> {
  const agent = new Agent({ allowH2: false, pipelining: 1, connections: CONCURRENCY, connect: { ca: TEST_CERT } });
  const bodies = messagesOf(1, count).map((message) => {
    const { accountId: _, ...event } = deliveredOf(message);
    return bodyOf('A', event, { ...message, messageId: message.id, submittedAt: null, callback: null }) ?? '';
  });
  const request = { origin: `https://localhost:${receiver.port}`, path: '/', method: 'POST' } as const;
  let next = 0;
  const post = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const answer = await agent.request({ ...request, headers: { 'content-type': 'application/json' }, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`returned ${answer.statusCode}`);
    }
  };
  const start = performance.now();
  const { cpuMicros } = await ownCpuMicros(count, () => Promise.all(Array.from({ length: CONCURRENCY }, post)));
  const seconds = (performance.now() - start) / 1000;
  await agent.close();
  await receiver.counts();
  return { perSecond: count / seconds, cpuMicros };
}

/** Registers a webhook of the account for all events of messages. */
export async function registerWebhook({ address }: Stage, apiKey: string, callbackUrl: string): Promise<void> {
  const answer = await fetch(`${address}${REGISTER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ callbackUrl }),
  });
  if (answer.status !== 201) throw new Error(`returned ${answer.status}: ${await answer.text()}`);
}

/** Returns the rate from the commit of all events to the commit of the last acknowledgement, and the costs. */
async function deliver(
  stage: Stage,
  receiver: ReceiverProcess,
  count: number,
): Promise<{ perSecond: number; costs: Costs }> {
  const messages = messagesOf(1, count);
  for (let i = 0; i < count; i += 1000) await insertMessages(stage.pool, messages.slice(i, i + 1000));
  const costsOf = await countCosts(stage);
  await transaction(stage.pool, async (tx) => {
    for (let i = 0; i < count; i += 1000) await publishEvents(tx, messages.slice(i, i + 1000).map(deliveredOf));
  });
  const start = performance.now();
  await until(async () => (await stage.pool.query('SELECT 1 FROM webhook_outbox LIMIT 1')).rowCount === 0);
  const seconds = (performance.now() - start) / 1000;
  const { received } = await receiver.counts();
  if (received < count) throw new Error(`${received} of ${count} arrived`);
  return { perSecond: count / seconds, costs: await costsOf(count) };
}

/** Publishes one event per second for each account, beginning when it is not yet known which receivers are dead. */
async function deliverToMany(stage: Stage, receiver: ReceiverProcess): Promise<Counts> {
  const accountIds: number[] = [];
  for (let n = 0; n < ENDPOINTS; n++) {
    const { accountId, apiKey } = await createAccount(stage.pool, { name: `Endpoint ${n}`, plan: 'unlimited' });
    await registerWebhook(stage, apiKey, `https://localhost:${receiver.port}/${n < DEAD ? 'dead' : 'healthy'}/${n}`);
    accountIds.push(accountId);
  }
  await receiver.counts();
  for (let round = 0; round < ROUNDS; round++) {
    const end = delay(ROUND_MS);
    const messages = accountIds.flatMap((accountId) => messagesOf(accountId, 1));
    await insertMessages(stage.pool, messages);
    await publishEvents(stage.pool, messages.map(deliveredOf));
    await end;
  }
  await delay(2 * ROUND_MS);
  return receiver.counts();
}
