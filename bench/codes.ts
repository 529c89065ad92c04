import { setTimeout as delay } from 'node:timers/promises';
import { destinationOf } from './lib/traffic.ts';
import type { Report } from './lib/report.ts';
import { openStage, postBulk, type Stage, until } from './lib/stage.ts';
import { p50, p99 } from './lib/times.ts';

const BULK = Number(process.argv[3] ?? 50_000);
const CODES = 400;
const PER_SECOND = 20;
const CARRIER_PER_SECOND = 500;
/** Promised 99th percentile of the time to the carrier, in ms. */
const MAX_CARRIER_MS = 250;
const MAX_CHECK_MS = 50;

/**
 * Verifications of numbers, 20 a second, started and checked while messages in bulk wait for a carrier that takes 500 a
 * second. Measures the time from the acceptance of a code to the answer of the carrier, and that of a check.
 */
export async function benchCodes(): Promise<Report> {
  await using stage = await openStage();
  const { id: serviceId } = await stage.call<{ id: string }>('POST', '/verify/services', {
    name: 'Bench',
    brand: 'Bench',
    codeMode: 'provided',
    guard: { mode: 'monitor' },
  });
  await sendCodes(stage, serviceId, 0, PER_SECOND);
  await stage.operate('connection', 'update', 'bench', '--set', `tps=${CARRIER_PER_SECOND}`);
  await postBulk(stage, BULK);
  const { starts, checks } = await sendCodes(stage, serviceId, PER_SECOND, CODES);
  const carrier = await timesToCarrier(stage);
  return {
    name: 'codes',
    ratio: Math.min(MAX_CARRIER_MS / p99(carrier), MAX_CHECK_MS / p99(checks)),
    target: 1,
    figures: {
      'start.p50Ms': p50(starts),
      'start.p99Ms': p99(starts),
      'check.p50Ms': p50(checks),
      'check.p99Ms': p99(checks),
      'carrier.p50Ms': p50(carrier),
      'carrier.p99Ms': p99(carrier),
      'carrier.maxMs': Math.max(...carrier),
    },
  };
}

/** Starts and checks codes at a steady rate, each of another number. */
async function sendCodes(stage: Stage, serviceId: string, from: number, count: number) {
  const starts: number[] = [];
  const checks: number[] = [];
  const one = async (n: number): Promise<void> => {
    const code = String(100_000 + n);
    const begunAt = performance.now();
    const { id } = await stage.call<{ id: string }>('POST', '/verifications', {
      serviceId,
      to: destinationOf(7_000_000 + n * 7919),
      code,
    });
    starts.push(performance.now() - begunAt);
    const checkedAt = performance.now();
    const { valid } = await stage.call<{ valid: boolean }>('POST', `/verifications/${id}/check`, { code });
    checks.push(performance.now() - checkedAt);
    if (!valid) throw new Error(`the code of ${id} was not valid`);
  };
  const all: Promise<void>[] = [];
  for (let n = from; n < from + count; n++) {
    all.push(one(n));
    await delay(1000 / PER_SECOND);
  }
  await Promise.all(all);
  return { starts, checks };
}

/** Returns the times from the creation of each message id, to its millisecond, to the response of the carrier. */
async function timesToCarrier({ pool }: Stage): Promise<number[]> {
  const rows = async () =>
    (
      await pool.query<{ id: string; submitted_at: Date }>(
        `SELECT s.id, s.submitted_at FROM verification_message m JOIN message_state s ON s.account_id = m.account_id AND s.id = m.message_id
         WHERE s.submitted_at IS NOT NULL`,
      )
    ).rows;
  await until(async () => (await rows()).length >= CODES);
  return (await rows()).map(
    ({ id, submitted_at }) => submitted_at.getTime() - Number.parseInt(id.replace('-', '').slice(0, 12), 16),
  );
}
