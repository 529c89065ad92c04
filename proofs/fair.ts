import { setTimeout as delay } from 'node:timers/promises';
import { takenByDestination } from './lib/carrier.ts';
import { destinationOf, sendBulk } from './lib/messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';
import { ONE_QUEUE } from './sabotage/in-database.ts';

type Size = { readonly queued: number; readonly singles: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { queued: 20_000, singles: 20 },
  quick: { queued: 50_000, singles: 200 },
  full: { queued: 500_000, singles: 1000 },
};
/** The rate of the connection, at which the queue takes minutes or hours. */
const TPS = 200;
const SINGLES_PER_SECOND = 20;
const TIMEOUT_MS = 20_000;
const POLL_MS = 200;
/**
 * A single send that lets this share of the queue go first is in the queue itself. Messages are counted and not seconds,
 * which on a busy machine say more about the machine.
 */
const QUEUED_SHARE = 0.1;
const NOT_QUEUED = 'no single send lets a tenth of the queue go first';
const TWICE_IDLE = 'p99 stays within twice that of an idle gateway';

export const fair: Proof = {
  promise: "One account's queue does not slow down another account's single sends.",
  sabotage: {
    fault: 'all messages are queued in the order in which they arrive',
    sql: ONE_QUEUE,
    module: new URL('./sabotage/fair.ts', import.meta.url),
    breaks: [NOT_QUEUED],
    mode: 'tiny',
  },
  notYet: {
    [TWICE_IDLE]:
      'a single send goes first, but shares the transactions of the worker and the rate limit with the queue',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { queued, singles } = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { receiptDelayMs: 50 },
    settings: { tps: TPS, window: 50 },
  });
  const { client: other } = await stage.newAccount({ plan: 'unlimited' });
  const send = (phoneNumber: string) => other.send({ phoneNumber, message: 'Your code is 123456' });
  const idle = await measure(run, stage, send, numbers(0, singles));
  run.log(`alone: p50 ${idle.p50} ms, p99 ${idle.p99} ms`);

  await sendBulk(stage, numbers(singles, queued), 'One of very many');
  run.log(`${queued} messages of another account are queued, at ${TPS} a second`);
  const busy = await measure(run, stage, send, numbers(singles + queued, singles));
  run.log(`next to them: p50 ${busy.p50} ms, p99 ${busy.p99} ms`);

  const { submits } = await stage.carrier.counts();
  const stillQueued = queued + 2 * singles - submits;
  const figures = {
    queued,
    stillQueued,
    singles,
    idleP50Ms: idle.p50,
    idleP99Ms: idle.p99,
    busyP50Ms: busy.p50,
    busyP99Ms: busy.p99,
    busyMaxMs: busy.max,
    wentFirst: busy.wentFirst,
    notSent: idle.notSent + busy.notSent,
  };
  return judge(figures, {
    [TWICE_IDLE]: busy.p99 <= 2 * idle.p99,
    [NOT_QUEUED]: busy.notSent === 0 && busy.wentFirst < QUEUED_SHARE * queued,
    'every single send reaches the carrier': figures.notSent === 0,
    'the queue never ran empty': stillQueued > 0,
  });
}

/** Numbers of the messages of a run. */
const numbers = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => destinationOf(first + n));

/** Sends single messages at random intervals; returns the latencies in ms from the request to the carrier, and how
 * many other messages the carrier got meanwhile, at most. */
async function measure(
  run: Run,
  stage: Stage,
  send: (phoneNumber: string) => Promise<unknown>,
  destinations: readonly string[],
) {
  const sentAt = new Map<string, number>();
  const sends: Promise<unknown>[] = [];
  for (const phoneNumber of destinations) {
    sentAt.set(phoneNumber, Date.now());
    sends.push(send(phoneNumber));
    await delay(between(run, 0, (2 * 1000) / SINGLES_PER_SECOND));
  }
  await Promise.all(sends);
  const waits = await waitsOf(stage, sentAt);
  const latencies = waits.map(({ ms }) => ms);
  return {
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    max: Math.max(0, ...latencies),
    wentFirst: Math.max(0, ...waits.map(({ wentFirst }) => wentFirst)),
    notSent: sentAt.size - latencies.length,
  };
}

type Wait = { readonly ms: number; readonly wentFirst: number };

/** Waits until the carrier has all of them, up to a deadline. */
async function waitsOf({ carrier }: Stage, sentAt: ReadonlyMap<string, number>): Promise<Wait[]> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const ledger = await carrier.ledger();
    const taken = takenByDestination(ledger);
    const others = ledger.submits.flatMap(({ at, destination }) => (sentAt.has(`+${destination}`) ? [] : [at]));
    const wentFirst = (from: number, to: number): number => others.filter((at) => at >= from && at < to).length;
    const waits = [...sentAt].flatMap(
      ([number, from]) => taken.get(number)?.map(({ at }) => ({ ms: at - from, wentFirst: wentFirst(from, at) })) ?? [],
    );
    if (waits.length >= sentAt.size || performance.now() > deadline) return waits;
    await delay(POLL_MS);
  }
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0;
