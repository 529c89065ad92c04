import { insertMessages } from '../../src/messaging/messages/new/sql.ts';
import { registerEndpoint } from '../../src/messaging/webhooks/endpoint.ts';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { insertAccount } from '../../src/identity/accounts/sql.ts';
import { operatorAuthor } from '../../src/identity/audit/record.ts';
import { transaction } from '../../src/platform/db/transaction.ts';
import { createSecretKey } from '../../src/platform/lib/secret-box.ts';
import { STATUS } from '../../src/messaging/states.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { newMessage } from '../../test/support/queue.ts';
import { publishEvents } from '../../src/messaging/webhooks/publish.ts';
import { type Process, startProcess } from '../lib/processes.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { FLOODING, SLOW } from './manners.ts';
import { openStage, type Stage } from '../lib/stage.ts';

type Size = {
  readonly hostile: number;
  readonly healthy: number;
  readonly rounds: number;
  /** Each hostile receiver gets a new event every this many rounds; failed ones are retried in addition. */
  readonly hostileEvery: number;
};

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { hostile: 16, healthy: 4, rounds: 5, hostileEvery: 5 },
  quick: { hostile: 200, healthy: 20, rounds: 15, hostileEvery: 5 },
  full: { hostile: 1000, healthy: 50, rounds: 60, hostileEvery: 20 },
};
const ROUND_MS = 1000;
/** Healthy accounts have more events than the others, so that a common pace for all would show. */
const EVENTS_PER_HEALTHY = 5;
const SAMPLE_MS = 200;
/** Whatever is under way when the last round ends is finished after this time. */
const SETTLING_MS = 7000;
const MEMORY_MB = 64;
const SLOT_MS = 5500;
const HEALTHY_P99_MS = 2000;
const SLOW_SHARE = 0.4;
/** The niceness of hostile receivers: in reality they would not share the program's CPU. */
const NICENESS = 5;
const SECRET_KEY = '5e'.repeat(32);

export const receivers: Proof = {
  promise:
    'A bad receiver harms only its owner: others get their events in time, and it takes no memory or slots for long.',
  sabotage: {
    fault: 'the timer of a request ends when the headers of the answer have arrived',
    file: new URL('../sabotage/receivers.ts', import.meta.url),
    breaks: [`each slot is free after ${SLOT_MS} ms`],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  const good = await startReceivers(run, 1);
  // In separate processes: one that floods is late to notice that a connection has closed.
  const slow = await startReceivers(run, Math.ceil(size.hostile * SLOW_SHARE), NICENESS);
  const flooding = await startReceivers(run, Math.floor(size.hostile * (1 - SLOW_SHARE)), NICENESS);
  const caFile = join(run.folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  const environment = {
    SECRET_KEY,
    WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
    WEBHOOK_PORTS: [good, slow, flooding].flatMap(portsOf).join(),
    WEBHOOK_CA_FILE: caFile,
  };
  await using stage = await openStage(run, { gateway: 'serve', environment });
  const accounts = await register(stage.pool, size, { good, slow, flooding });
  const play = () => runRounds(stage, { good, slow, flooding }, accounts, size);

  // The same traffic with good manners first, to measure what the program needs anyway.
  const before = await play();
  run.log(`all healthy: p99 ${before.p99Ms} ms, ${before.peakMb} MB`);
  await Promise.all([ask(slow, 'turn'), ask(flooding, 'turn')]);
  const after = await play();
  run.log(`${size.hostile} hostile: p99 of the others ${after.p99Ms} ms, ${after.peakMb} MB`);
  await Promise.all([good, slow, flooding].map((process) => process.stop()));

  const figures = {
    hostile: size.hostile,
    hostileSeen: after.hostileSeen,
    hostileRequests: after.hostileRequests,
    calmP99Ms: before.p99Ms,
    healthyP99Ms: after.p99Ms,
    healthyMissing: before.missing + after.missing,
    calmPeakMb: before.peakMb,
    peakMb: after.peakMb,
    longestSlotMs: after.heldMs,
  };
  return judge(figures, {
    'every event of a healthy receiver arrived': figures.healthyMissing === 0,
    [`at healthy receivers p99 stays within ${HEALTHY_P99_MS} ms`]: after.p99Ms <= HEALTHY_P99_MS,
    [`memory grows by ${MEMORY_MB} MB at most`]: after.peakMb - before.peakMb <= MEMORY_MB,
    [`each slot is free after ${SLOT_MS} ms`]: after.heldMs <= SLOT_MS,
    'every hostile receiver was called': after.hostileSeen === size.hostile,
  });
}

const startReceivers = (run: Run, ports: number, niceness = 0): Promise<Process> => {
  const file = new URL('./process.ts', import.meta.url);
  return startProcess(run, { file, args: [String(ports), String(niceness)] });
};

function portsOf({ ready }: Process): number[] {
  const { ports } = ready;
  if (!Array.isArray(ports)) throw new Error('the receivers did not report their ports');
  return ports.map(Number);
}

type Receivers = { readonly good: Process; readonly slow: Process; readonly flooding: Process };
type Accounts = { readonly hostile: readonly number[]; readonly healthy: readonly number[] };

/**
 * Registers the endpoints. Each hostile receiver has a port of its own; the healthy ones share one, like accounts that
 * use the same service.
 */
async function register(pool: Pool, size: Size, { good, slow, flooding }: Receivers): Promise<Accounts> {
  const secretKey = createSecretKey(Buffer.from(SECRET_KEY, 'hex'));
  const open = (port: number, name: string, n: number): Promise<number> =>
    transaction(pool, async (tx) => {
      const { id } = await insertAccount(tx, { name: `${name} ${n}`, plan: 'unlimited' });
      const url = `https://localhost:${port}/${encodeURIComponent(name)}/${n}`;
      await registerEndpoint(tx, operatorAuthor(id), { url, form: 'A', secretKey });
      return id;
    });
  const hostile: number[] = [];
  for (const [n, port] of portsOf(slow).entries()) hostile.push(await open(port, SLOW[n % SLOW.length] ?? '', n));
  for (const [n, port] of portsOf(flooding).entries())
    hostile.push(await open(port, FLOODING[n % FLOODING.length] ?? '', n));
  const healthy: number[] = [];
  for (let n = 0; n < size.healthy; n++) healthy.push(await open(portsOf(good)[0] ?? 0, 'healthy', n));
  return { hostile, healthy };
}

/** Publishes several events per round for each healthy receiver, and returns what has become of them. */
async function runRounds(
  stage: Stage,
  { good, slow, flooding }: Receivers,
  { hostile, healthy }: Accounts,
  size: Size,
) {
  const { rounds, hostileEvery } = size;
  const memory = watchMemory(stage.gateway.pid);
  for (let round = 0; round < rounds; round++) {
    const end = delay(ROUND_MS);
    const turn = hostile.filter((_, n) => n % hostileEvery === round % hostileEvery);
    const accountIds = [...turn, ...Array.from({ length: EVENTS_PER_HEALTHY }, () => healthy).flat()];
    await publish(stage.pool, accountIds);
    await end;
  }
  await delay(SETTLING_MS);
  const report = await ask(good, 'report');
  const others = [await ask(slow, 'report'), await ask(flooding, 'report')];
  const sorted = report.latencies.toSorted((a, b) => a - b);
  return {
    missing: Math.max(0, rounds * healthy.length * EVENTS_PER_HEALTHY - sorted.length),
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    peakMb: memory.peakMb(),
    hostileSeen: others.reduce((sum, { paths }) => sum + paths, 0),
    hostileRequests: others.reduce((sum, { latencies }) => sum + latencies.length, 0),
    heldMs: Math.max(...others.map(({ heldMs }) => heldMs)),
  };
}

/** Publishes events as the pipelines do, for messages that were just delivered. */
async function publish(pool: Pool, accountIds: readonly number[]): Promise<void> {
  const messages = accountIds.map((accountId) => newMessage({ accountId }));
  await transaction(pool, async (tx) => {
    await insertMessages(tx, messages);
    const at = new Date();
    await publishEvents(
      tx,
      messages.map(({ accountId, id }) => ({
        accountId,
        messageId: id,
        kind: 'DELIVERY',
        status: STATUS.DELIVERED,
        at,
        error: null,
      })),
    );
  });
}

type Report = { readonly latencies: readonly number[]; readonly paths: number; readonly heldMs: number };

async function ask(receiver: Process, what: 'report' | 'turn'): Promise<Report> {
  receiver.send({ do: what });
  const { latencies, paths, heldMs } = await receiver.nextLine();
  if (!Array.isArray(latencies)) throw new Error('the receivers did not report');
  return { latencies: latencies.map(Number), paths: Number(paths), heldMs: Number(heldMs) };
}

/** Samples the memory of a process; returns the peak in MB when stopped. */
function watchMemory(pid: number) {
  let peakKb = 0;
  const look = (): void => {
    const text = execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
    peakKb = Math.max(peakKb, Number(text));
  };
  const timer = setInterval(look, SAMPLE_MS);
  return {
    peakMb(): number {
      clearInterval(timer);
      return Math.round(peakKb / 1024);
    },
  };
}
