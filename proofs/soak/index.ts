import { setTimeout as delay } from 'node:timers/promises';
import { compare, hasEnded } from '../lib/compare.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from '../lib/messages.ts';
import { countInbound, mixedWork, openBusyAccount, type Pace, PRICE, sumEarned } from '../lib/mixed-work.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { type Account, openStage, type Stage } from '../lib/stage.ts';
import { startTraffic, sumOf } from '../lib/traffic.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../lib/webhook-receiver.ts';
import { listBroken, watchLog } from './invariants.ts';
import { type Sample, takeSample, trendOf } from './samples.ts';

type Size = {
  readonly seconds: number;
  readonly checkEverySeconds: number;
  /** Maximum slopes of the straight lines through the samples; null for runs that are too short to draw them. */
  readonly max: { readonly heapMiBPerHour: number; readonly rssMiBPerHour: number } | null;
  readonly pace: Pace;
};

/** About 70 messages per second. */
const STEADY: Pace = {
  single: { everyMs: 60 },
  bulk: { everyMs: 4000, size: 100 },
  campaign: { everyMs: 20_000, size: 600 },
  scheduled: { everyMs: 1000 },
  inbound: { everyMs: 500 },
  import: { everyMs: 30_000, size: 200 },
  export: { everyMs: 30_000 },
  read: { everyMs: 250 },
  faulty: { everyMs: 500 },
};
/** Everything happens several times within a minute. */
const DENSE: Pace = {
  ...STEADY,
  single: { everyMs: 20 },
  bulk: { everyMs: 1000, size: 100 },
  campaign: { everyMs: 8000, size: 300 },
  import: { everyMs: 8000, size: 200 },
  export: { everyMs: 8000 },
};

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { seconds: 25, checkEverySeconds: 2, max: null, pace: DENSE },
  quick: { seconds: 300, checkEverySeconds: 5, max: { heapMiBPerHour: 30, rssMiBPerHour: 300 }, pace: STEADY },
  full: { seconds: 7200, checkEverySeconds: 60, max: { heapMiBPerHour: 1, rssMiBPerHour: 8 }, pace: STEADY },
};
/** Maximum growth of descriptors and sessions between the first and the last third. */
const MAX_MORE = 3;
const MIN_RATE_SHARE = 0.8;
const STALL_TIMEOUT_MS = 30_000;

export const soak: Proof = {
  promise: 'After hours of traffic the gateway is as fast, as small and as consistent as at the beginning.',
  sabotage: {
    fault: 'the outcome of every message is kept in memory',
    module: new URL('../sabotage/soak.ts', import.meta.url),
    breaks: ['memory does not grow'],
    mode: 'quick',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  const { max } = size;
  await using webhooks = await startWebhookReceiver(run);
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { receiptDelayMs: 100 },
    settings: { window: 100 },
    prices: [PRICE],
    environment: webhooks.environment,
    preload: [new URL('./heap.ts', import.meta.url)],
  });
  const account = await openBusyAccount(stage);
  await webhooks.register(account.client);
  const report = createFaultLog(run);
  const origin = (): string => String(stage.gateway.ready['address']);
  const means = { client: account.client, origin, carrier: stage.carrier, pace: size.pace };
  const { works, answered } = mixedWork(means);
  const traffic = startTraffic(works, (name, error) => report(name, `${name}: ${String(error)}`));
  const watched = await watch(run, stage, size, report);
  await traffic.stop();
  const isIdle = await untilIdle(stage, STALL_TIMEOUT_MS);
  const ended = await compareEnd(stage, account, webhooks);

  const trend = trendOf(watched.samples);
  const figures = {
    ...ended,
    requests: sumOf(traffic.done) + sumOf(traffic.failed),
    unexpected: sumOf(traffic.failed),
    errorLines: watched.errorLines,
    checks: watched.samples.length,
    brokenInvariants: watched.broken,
    inboundTaken: answered.inbound,
    ...trend,
  };
  return judge(figures, {
    'every response is the expected one': figures.unexpected === 0,
    'nothing in the log is an error': figures.errorLines === 0,
    'every invariant holds at every check': figures.brokenInvariants === 0,
    'memory does not grow': max === null || trend.heapMiBPerHour <= max.heapMiBPerHour,
    'resident memory does not grow': max === null || trend.rssMiBPerHour <= max.rssMiBPerHour,
    'neither descriptors nor sessions become more':
      max === null || (trend.moreDescriptors <= MAX_MORE && trend.moreSessions <= MAX_MORE),
    'the rate does not decline': max === null || trend.lastRate >= MIN_RATE_SHARE * trend.firstRate,
    'all that was accepted is delivered, once':
      isIdle && figures.lost === 0 && figures.unknown === 0 && figures.duplicates === 0 && figures.inDoubt === 0,
    'what was acknowledged is what exists': figures.messages === answered.ids.length + answered.recipients.length,
    'every delivery was reported to the webhook': figures.unreported === 0,
    'every inbound message is stored once': figures.inboundStored === answered.inbound,
    'the earnings equal the price of what the carrier took': figures.earnedMicros === figures.dueMicros,
  });
}

/** Takes a sample and checks the invariants, again and again until the time is over. */
async function watch(run: Run, stage: Stage, size: Size, report: (kind: string, sentence: string) => void) {
  const startedAt = performance.now();
  const newFaults = watchLog(run);
  const samples: Sample[] = [];
  let [broken, errorLines] = [0, 0];
  while (performance.now() - startedAt < size.seconds * 1000) {
    await delay(size.checkEverySeconds * 1000);
    const [sample, sentences, lines] = [await takeSample(stage, startedAt), await listBroken(stage), await newFaults()];
    samples.push(sample);
    broken += sentences.length;
    errorLines += lines.length;
    for (const sentence of sentences) report(sentence.slice(0, 20), sentence);
    for (const line of lines) report(line.slice(0, 60), line);
    run.log(describe(sample));
  }
  return { samples, broken, errorLines };
}

const describe = ({ atMs, accepted, heapMiB, rssMiB, descriptors, sessions }: Sample): string =>
  `${Math.round(atMs / 1000)} s: ${accepted} messages, heap ${heapMiB.toFixed(1)} MiB, ` +
  `resident ${Math.round(rssMiB)} MiB, ${descriptors} descriptors, ${sessions} sessions`;

/** Compares all messages with the carrier's ledger, the webhook's requests and the money. */
async function compareEnd(stage: Stage, account: Account, webhooks: WebhookReceiver) {
  const { pool } = stage;
  const { rows: messages } = await pool.query<{ id: string }>('SELECT id FROM message ORDER BY id');
  const ids = messages.map(({ id }) => id);
  const mine = { ...stage, client: account.client };
  await webhooks.untilDelivered(ids, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const counts = compare({
    ids,
    records: await exportStatuses(mine, ids, hasEnded, STALL_TIMEOUT_MS),
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger,
  });
  return {
    ...counts,
    unreported: ids.filter((id) => !webhooks.delivered.has(id)).length,
    inboundStored: await countInbound(stage, account),
    earnedMicros: await sumEarned(stage, account),
    dueMicros: ledger.submits.filter(({ status }) => status === 'ESME_ROK').length * PRICE.unitMicros,
  };
}
