import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbedded } from '../src/core/db/embedded.ts';
import { firstIdAt } from '../src/core/ids.ts';
import { silentLog } from '../src/core/log.ts';
import { listFigureDifferences, reconcile } from '../src/operate/reconciliation.ts';
import { createClient } from '../test/support/client.ts';
import { until } from '../test/support/until.ts';
import type { Ledger } from './lib/carrier.ts';
import { compare, hasEnded } from './lib/compare.ts';
import { createFaultLog } from './lib/fault-log.ts';
import { type Crew, startProcesses } from './lib/kills.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from './lib/messages.ts';
import { type Answered, mixedWork, openBusyAccount, type Pace, PRICE, sumEarned } from './lib/mixed-work.ts';
import { countOrphanFiles } from './lib/orphan-files.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';
import { startTraffic, sumOf } from './lib/traffic.ts';
import { startWebhookReceiver, type WebhookReceiver } from './lib/webhook-receiver.ts';
import { CHUNKS_OF_THE_LIVING } from './sabotage/in-database.ts';

type Size = { readonly seconds: number; readonly apis: number; readonly workers: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { seconds: 20, apis: 3, workers: 4 },
  quick: { seconds: 150, apis: 3, workers: 4 },
  full: { seconds: 1800, apis: 3, workers: 4 },
};
const WINDOW = 10;
/** Rate of the connection in messages per second, which all workers share. */
const RATE = 150;
/** The carrier may see somewhat more within this time: a worker learns of another one a moment later. */
const RATE_SPAN_MS = 10_000;
const MAX_RATE_SHARE = 1.2;
/** Between two ends of a process. */
const PAUSE_MS = { min: 500, max: 2500 };
const STALL_TIMEOUT_MS = 60_000;
const HOUR_MS = 3_600_000;

/** About 90 messages per second, in bursts that the rate of the connection holds up. */
const PACE: Pace = {
  single: { everyMs: 50 },
  bulk: { everyMs: 3000, size: 100 },
  campaign: { everyMs: 10_000, size: 400 },
  scheduled: { everyMs: 500 },
  inbound: { everyMs: 500 },
  import: { everyMs: 10_000, size: 200 },
  export: { everyMs: 5000 },
  read: { everyMs: 250 },
  faulty: { everyMs: 1000 },
};

export const scale: Proof = {
  promise: 'Several api and worker processes on one database are one gateway, whichever of them comes and goes.',
  sabotage: {
    fault: 'each worker takes over the chunks of living workers, too',
    sql: CHUNKS_OF_THE_LIVING,
    breaks: ['unknown <= kills of workers x window'],
    mode: 'tiny',
  },
  // Seven processes: next to other tests, they would only wait for each other.
  timed: true,
  prove,
};

/** Sends mixed traffic to several `api` and `worker` processes, of which one after the other is killed or stopped. */
async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using opened = new AsyncDisposableStack();
  const databaseUrl = run.databaseUrl ?? (await openDatabase(run, opened));
  const webhooks = opened.use(await startWebhookReceiver(run));
  const stage = opened.use(
    await openStage(
      { ...run, databaseUrl },
      {
        gateway: 'api',
        script: { responseDelayMs: 5, receiptDelayMs: 50, retryMs: 500 },
        settings: { window: WINDOW, binds: 1, tps: RATE },
        prices: [PRICE],
        // The embedded server has sessions for seven processes with as many connections each.
        environment: { ...webhooks.environment, DATABASE_POOL: '4' },
      },
    ),
  );
  const account = await openBusyAccount(stage);
  await webhooks.register(account.client);
  const apis = await startProcesses(run, size.apis, () => stage.startApi(), 1);
  const workers = await startProcesses(run, size.workers, stage.startWorker);
  await stage.gateway.stop();

  const origin = (): string => String(oneOf(run, [...apis.ready]).ready['address']);
  const client = createClient(origin, account.apiKey);
  const report = createFaultLog(run);
  const { works, answered } = mixedWork({ client, origin, carrier: stage.carrier, pace: PACE });
  const traffic = startTraffic(works, (name, error) => report(name, `${name}: ${String(error)}`));
  const ends = await endInTurns(run, { apis, workers });
  await traffic.stop();
  await Promise.all([apis.allStarted(), workers.allStarted()]);
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const mine = { ...stage, client };
  const figures = {
    ...(await compareEnd(mine, { account, answered, webhooks })),
    // After the exports have ended.
    orphanFiles: await countOrphanFiles(run, stage),
    ...ends,
    unknownBound: workers.kills * WINDOW,
    requests: sumOf(traffic.done) + sumOf(traffic.failed),
    failedRequests: sumOf(traffic.failed),
    exports: answered.exportIds.length,
  };
  return judge(figures, {
    'what was acknowledged exists': figures.answeredInVain === 0,
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= kills of workers x window': figures.inDoubt <= figures.unknownBound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'every delivery was reported to the webhook': figures.unreported === 0,
    'balances, ledger and reserved credit agree': figures.brokenBooks === 0,
    'the earnings equal the price of what was delivered, but for what is unknown':
      figures.earnedMicros >= figures.delivered * PRICE.unitMicros &&
      figures.earnedMicros <= (figures.delivered + figures.unknown) * PRICE.unitMicros,
    'the figures count every message once': figures.wrongFigures === 0,
    'the workers share the rate of the connection': figures.maxRate <= RATE * MAX_RATE_SHARE,
    'every export was made once': figures.failedExports === 0 && figures.orphanFiles === 0,
    'a process that is asked to stop ends with 0': figures.badExits === 0,
    // One API process is always there; those that are killed take the requests of a moment with them.
    'most requests got a response': figures.failedRequests < figures.requests / 5,
    'processes of both kinds were killed and stopped':
      Math.min(ends.workerKills, ends.apiKills, ends.workerStops, ends.apiStops) > 0,
  });
}

/** Starts a database that belongs to none of the processes. */
async function openDatabase({ folder }: Run, opened: AsyncDisposableStack): Promise<string> {
  const server = await startEmbedded({ dataDir: join(folder, 'data'), log: silentLog });
  opened.defer(server.stop);
  return server.connectionString;
}

/** Kills a worker, stops an `api`, kills an `api`, stops a worker, and so on, at least once each, until the time is over. */
async function endInTurns(run: Run, { apis, workers }: { apis: Crew; workers: Crew }) {
  const end = performance.now() + SIZES[run.mode].seconds * 1000;
  const codes: (number | null)[] = [];
  const stops = { apiStops: 0, workerStops: 0 };
  const turns = [
    () => workers.killOne(),
    async () => void (codes.push(await apis.stopOne()), stops.apiStops++),
    () => apis.killOne(),
    async () => void (codes.push(await workers.stopOne()), stops.workerStops++),
  ];
  for (let n = 0; n < turns.length || performance.now() < end; n++) {
    await delay(between(run, PAUSE_MS.min, PAUSE_MS.max));
    await turns[n % turns.length]?.();
    if (n % 20 === 19) run.log(`${n + 1} processes were killed or stopped`);
  }
  // After 10 seconds a process gives up and ends with 1, as it may on a machine that is busy with tests.
  const badExits = codes.filter((code) => code !== 0 && (run.mode !== 'tiny' || code === null)).length;
  return { workerKills: workers.kills, apiKills: apis.kills, ...stops, badExits };
}

type Outcome = { readonly account: Account; readonly answered: Answered; readonly webhooks: WebhookReceiver };

/** Compares the database with the carrier's ledger, the responses, the webhook's requests and the money. */
async function compareEnd(stage: Stage, { account, answered, webhooks }: Outcome) {
  const { rows: messages } = await stage.pool.query<{ id: string; destination: string }>(
    'SELECT id, destination FROM message ORDER BY id',
  );
  const ids = messages.map(({ id }) => id);
  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const delivered = records.filter(({ deliveryStatus }) => deliveryStatus === 'DELIVERED').map((r) => r.messageId);
  await webhooks.untilDelivered(delivered, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const unknownOutcomes = await listUnknownOutcomes(stage);
  return {
    ...compare({ ids, records, unknownOutcomes, everUnknown: await listEverUnknown(stage), ledger }),
    answeredInVain:
      countMissing(answered.ids, new Set(ids)) +
      countMissing(answered.recipients, new Set(messages.map(({ destination }) => destination))),
    unreported: countMissing(delivered, webhooks.delivered),
    webhookRequests: webhooks.requests(),
    earnedMicros: await sumEarned(stage, account),
    brokenBooks: await countBrokenBooks(stage),
    wrongFigures: await countWrongFigures(stage),
    failedExports: await countFailedExports(stage),
    maxRate: maxRateOf(ledger),
  };
}

const countMissing = (wanted: readonly string[], there: ReadonlySet<string>): number =>
  wanted.filter((one) => !there.has(one)).length;

async function countBrokenBooks({ pool }: Stage): Promise<number> {
  const checks = await reconcile(pool, { hours: 1, now: new Date() });
  return checks.filter(({ ok }) => ok !== true).length;
}

/** The hourly figures of the whole run, the current hour included, against the states of the messages. */
async function countWrongFigures({ pool }: Stage): Promise<number> {
  const to = new Date(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  const from = new Date(to.getTime() - 3 * HOUR_MS);
  const differences = await listFigureDifferences(pool, { from, to, firstId: firstIdAt(from), endId: firstIdAt(to) });
  return differences.length;
}

/** Waits until every export has ended; returns how many have no file. */
async function countFailedExports({ pool }: Stage): Promise<number> {
  const count = async (condition: string): Promise<number> => {
    const { rows } = await pool.query(`SELECT count(*)::int AS n FROM export WHERE ${condition}`);
    return rows[0].n;
  };
  const isOver = async (): Promise<boolean> => (await count("status = 'PENDING'")) === 0;
  await until('the end of all exports', isOver, STALL_TIMEOUT_MS).catch(() => undefined);
  return count("status <> 'COMPLETED'");
}

/** The highest rate of submits over RATE_SPAN_MS, in messages per second. */
function maxRateOf({ submits }: Ledger): number {
  const times = submits.map(({ at }) => at).toSorted((a, b) => a - b);
  let [first, most] = [0, 0];
  for (const [n, at] of times.entries()) {
    while (at - (times[first] ?? at) >= RATE_SPAN_MS) first++;
    most = Math.max(most, n + 1 - first);
  }
  return Math.round((most / RATE_SPAN_MS) * 1000);
}
