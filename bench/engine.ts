import { copyRate } from './lib/copy-rate.ts';
import type { Running } from './lib/processes.ts';
import type { Report } from './lib/report.ts';
import { openStage, sendBulk } from './lib/stage.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);

/**
 * The whole path of bulk messages: HTTP request, commit, claim, submit_sm over real sockets, response, receipt, state;
 * with durable settings, prices and the ledger, and a receipt for every message. The carrier has two binds, each with a
 * window of 1,000 unanswered submits and 1,000 unanswered receipts (`sandbox --deliver-window`).
 */
export async function benchEngine(): Promise<Report> {
  await using stage = await openStage();
  const before = [stage.gateway.cpuSeconds(), stage.carrier.cpuSeconds()];
  const { acceptSeconds, seconds } = await sendBulk(stage, MESSAGES);
  const cpu = (who: Running, since = 0): number => Math.round(((who.cpuSeconds() - since) / MESSAGES) * 1e7) / 10;
  const [gatewayCpu, carrierCpu] = [cpu(stage.gateway, before[0]), cpu(stage.carrier, before[1])];
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
      gatewayCpuMicrosPerMessage: gatewayCpu,
      carrierCpuMicrosPerMessage: carrierCpu,
      gatewayPeakMb: stage.gateway.peakMb(),
      gatewayMemoryTargetMb: 400,
    },
  };
}
