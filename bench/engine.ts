import { copyRate } from './lib/copy-rate.ts';
import { countCosts, cpuMicrosOf, memoryFigures } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { openStage, type Stage, sendBulk } from './lib/stage.ts';
import { p50 } from './lib/times.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);
/** A process that has just started compiles its code: the first 100,000 messages cost a fifth more. */
const WARM_UP = 100_000;
/** The first load of a process is compared with loads of the same size, because their ends weigh the same. */
const FIRST = 10_000;
const WARM_ROUNDS = 5;
const FIRST_TARGET = 0.7;

/**
 * The whole path of bulk messages: HTTP request, commit, claim, submit_sm over real sockets, response, receipt, state;
 * with durable settings, prices and the ledger, and a receipt for every message. The carrier has two binds, each with a
 * window of 1,000 unanswered submits and 1,000 unanswered receipts (`sandbox --deliver-window`). The process is warm.
 * Also compares the rate of the first 10,000 messages after the start with that of 10,000 in the warm process.
 *
 * Compare the CPU times per message between changes; the ratio to COPY moves with the machine.
 */
export async function benchEngine(): Promise<Report> {
  await using stage = await openStage();
  const first = await sendFirst(stage);
  await sendBulk(stage, WARM_UP);
  const warm: Rate[] = [];
  for (let round = 0; round < WARM_ROUNDS; round++) warm.push(await sendFirst(stage));
  const carrierBefore = stage.carrier.cpuSeconds();
  const costsOf = await countCosts(stage);
  const { acceptSeconds, seconds } = await sendBulk(stage, MESSAGES);
  const costs = await costsOf(MESSAGES);
  const carrierCpu = ((stage.carrier.cpuSeconds() - carrierBefore) / MESSAGES) * 1e6;
  const limit = await copyRate(stage.connectionString);
  return {
    name: 'engine',
    ratio: MESSAGES / seconds / limit.messagesPerSecond,
    target: 0.25,
    figures: {
      messages: MESSAGES,
      messagesPerSecond: Math.round(MESSAGES / seconds),
      acceptedPerSecond: Math.round(MESSAGES / acceptSeconds),
      copyMessagesPerSecond: Math.round(limit.messagesPerSecond),
      copyMessageRowsPerSecond: Math.round(limit.messageRowsPerSecond),
      carrierCpuMicrosPerMessage: Math.round(carrierCpu * 10) / 10,
      ...costs,
      ...memoryFigures(stage),
      ...firstFigures(first, warm),
    },
  };
}

type Rate = { readonly perSecond: number; readonly cpuMicros: number };

async function sendFirst(stage: Stage): Promise<Rate> {
  const costsOf = await countCosts(stage);
  const { seconds } = await sendBulk(stage, FIRST);
  return { perSecond: FIRST / seconds, cpuMicros: cpuMicrosOf(await costsOf(FIRST)) };
}

/** The rates of the first load and of the median of the warm ones, and what both cost. */
function firstFigures(first: Rate, warm: readonly Rate[]): Record<string, number> {
  const warmPerSecond = p50(warm.map(({ perSecond }) => perSecond));
  return {
    'first10000.perSecond': Math.round(first.perSecond),
    'first10000.warmPerSecond': Math.round(warmPerSecond),
    'first10000.toWarm': first.perSecond / warmPerSecond,
    'first10000.target': FIRST_TARGET,
    'first10000.cpuMicrosPerMessage': first.cpuMicros,
    'first10000.warmCpuMicrosPerMessage': p50(warm.map(({ cpuMicros }) => cpuMicros)),
  };
}
