import { copyRate } from './copy-rate.ts';
import type { Report } from './report.ts';
import { openStage, sendBulk } from './stage.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);

/**
 * The whole path of bulk messages: HTTP accept, commit, claim, submit_sm over real sockets, response, receipt, state;
 * with durable settings, prices and the ledger, and every message with its receipt.
 */
export async function benchEngine(): Promise<Report> {
  const stage = await openStage();
  try {
    const { acceptSeconds, seconds } = await sendBulk(stage, MESSAGES);
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
        gatewayPeakMb: stage.gateway.peakMb(),
        gatewayMemoryTargetMb: 400,
      },
    };
  } finally {
    await stage.close();
  }
}
