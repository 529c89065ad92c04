import { copyRate } from './lib/copy-rate.ts';
import { countCosts } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { openStage, sendBulk } from './lib/stage.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);
/** A process that has just started compiles its code: the first 100,000 messages cost a fifth more. */
const WARM_UP = 100_000;

/**
 * The whole path of bulk messages: HTTP request, commit, claim, submit_sm over real sockets, response, receipt, state;
 * with durable settings, prices and the ledger, and a receipt for every message. The carrier has two binds, each with a
 * window of 1,000 unanswered submits and 1,000 unanswered receipts (`sandbox --deliver-window`). The process is warm.
 *
 * Compare the CPU times per message between changes; the ratio to COPY moves with the machine.
 */
export async function benchEngine(): Promise<Report> {
  await using stage = await openStage();
  await sendBulk(stage, WARM_UP);
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
    },
  };
}
