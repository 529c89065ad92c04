import type { SubmitEntry } from '../src/simulators/smsc/ledger-entries.ts';
import { compare, hasEnded } from './lib/compare.ts';
import {
  destinationOf,
  exportStatuses,
  listEverUnknown,
  listUnknownOutcomes,
  sendBulk,
  untilIdle,
} from './lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { openStage } from './lib/stage.ts';

/** The rate in parts per second that the carrier allows and the connection is set to. */
const TPS = 200;
const THROTTLED_SHARE = 0.3;
const PAUSE_MS = 50;
const WINDOW = 50;
const STALL_TIMEOUT_MS = 20_000;

const SECONDS: Readonly<Record<Mode, number>> = { tiny: 5, quick: 30, full: 600 };

/** The text of one message in four, which makes three parts. */
const THREE_PARTS = 'The parts of a long text must reach the carrier in their order. '.repeat(6);
const PARTS_OF_FOUR = 6;

/**
 * The mean rate is taken over this share of the submits: towards the end too few messages wait to use the full rate.
 */
const STEADY_SHARE = 0.9;
/** The peak rate is measured over this span; the burst of a quarter of a second that is allowed is 5 % of it. */
const RATE_WINDOW_MS = 5000;
/** Submits that were under way when the carrier refused arrive within this time. */
const IN_FLIGHT_MS = 15;

export const throttle: Proof = {
  promise: 'Throttling is obeyed; it costs no message and hardly any throughput.',
  sabotage: {
    fault: 'a throttled message is retried without pausing the bind',
    file: new URL('./sabotage/throttle.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { tps: TPS, throttleShare: THROTTLED_SHARE, receiptDelayMs: 50 },
    settings: { tps: TPS, window: WINDOW, throttlePauseMs: PAUSE_MS },
  });
  const groupsOfFour = Math.round((TPS * (1 - THROTTLED_SHARE) * SECONDS[run.mode]) / PARTS_OF_FOUR);
  const ids = [
    ...(await sendBulk(stage, numbers(0, groupsOfFour), THREE_PARTS)),
    ...(await sendBulk(stage, numbers(groupsOfFour, 3 * groupsOfFour), 'Short')),
  ];
  run.log(`${ids.length} messages are accepted; the carrier takes ${TPS} parts a second and refuses 30 % of them`);
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const figures = {
    ...compare({
      ids,
      records,
      unknownOutcomes: await listUnknownOutcomes(stage),
      everUnknown: await listEverUnknown(stage),
      ledger,
    }),
    ...measure(ledger.submits),
  };
  return judge(figures, {
    'nothing is lost': figures.lost + figures.inDoubt === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'parts arrive in order': figures.partsOutOfOrder === 0,
    // Next to other tests the processes get little CPU time: the smallest run checks the other claims.
    'at least 90 % of the allowed rate is used': figures.meanRate >= (run.mode === 'tiny' ? 0.5 : 0.9),
    'the rate never exceeds 110 %': figures.highestRate <= 1.1,
    'a refusal is followed by a pause': figures.refusalsIgnored <= 0.1,
  });
}

const numbers = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => destinationOf(first + n));

function measure(submits: readonly SubmitEntry[]) {
  const refused = submits.filter(({ status }) => status === 'ESME_RTHROTTLED');
  const steady = submits.slice(0, Math.ceil(submits.length * STEADY_SHARE));
  const seconds = ((steady.at(-1)?.at ?? 0) - (steady[0]?.at ?? 0)) / 1000;
  return {
    submits: submits.length,
    throttled: refused.length,
    /** As a share of the allowed rate. Every submit counts, including refused ones. */
    meanRate: round(steady.length / seconds / TPS),
    highestRate: round(maxWithin(submits, RATE_WINDOW_MS) / ((TPS * RATE_WINDOW_MS) / 1000)),
    refusalsIgnored: round(countIgnoredRefusals(submits) / Math.max(1, refused.length)),
    partsOutOfOrder: countOutOfOrder(submits),
  };
}

const round = (ratio: number): number => Math.round(ratio * 1000) / 1000;

/** The largest number of submits within any `spanMs`. */
function maxWithin(submits: readonly SubmitEntry[], spanMs: number): number {
  let [from, most] = [0, 0];
  submits.forEach(({ at }, i) => {
    while (at - (submits[from]?.at ?? at) >= spanMs) from++;
    most = Math.max(most, i - from + 1);
  });
  return most;
}

/** Counts refusals after which the client sent more before the pause was over than what was already under way. */
function countIgnoredRefusals(submits: readonly SubmitEntry[]): number {
  return submits.filter(({ status, at }, i) => {
    if (status !== 'ESME_RTHROTTLED') return false;
    const next = submits.slice(i + 1, i + 1 + WINDOW).find((later) => later.at > at + IN_FLIGHT_MS);
    return next !== undefined && next.at < at + PAUSE_MS - 1;
  }).length;
}

/** Counts messages whose parts were taken out of order. */
function countOutOfOrder(submits: readonly SubmitEntry[]): number {
  const parts = submits.filter(({ status, concat }) => status === 'ESME_ROK' && concat !== null);
  const messages = Map.groupBy(parts, ({ destination }) => destination);
  return [...messages.values()].filter((taken) => taken.some(({ concat }, i) => concat?.seq !== i + 1)).length;
}
