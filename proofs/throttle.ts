import type { SubmitEntry } from '../src/simulators/smsc/ledger-entries.ts';
import { compare, hasEnded } from './account.ts';
import { destinationOf, exportStatuses, listInDoubt, listUnknown, sendBulk, untilQuiet } from './messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage } from './stage.ts';

/** Parts a second that the carrier allows and the connection is set to. */
const TPS = 200;
const THROTTLED_SHARE = 0.3;
const PAUSE_MS = 50;
const WINDOW = 50;
const PATIENCE_MS = 20_000;

const SECONDS: Readonly<Record<Mode, number>> = { tiny: 5, quick: 30, full: 600 };

/** Of four messages one has three parts. */
const THREE_PARTS = 'The parts of a long text must reach the carrier in their order. '.repeat(6);
const PARTS_OF_FOUR = 6;

/** The mean rate is that of the time in which enough waits: the last messages have no others to fill their pauses. */
const STEADY_SHARE = 0.9;
/** A rate is looked at over this time: the quarter of a second that may go in one burst is 5 % of it. */
const RATE_WINDOW_MS = 5000;
/** What is under way when a carrier refuses needs this time to get there. */
const UNDER_WAY_MS = 15;

export const throttle: Proof = {
  promise: 'Throttling is obeyed, and costs no message and hardly any rate.',
  sabotage: {
    fault: 'a throttled message is tried again without a pause of the bind',
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
  const fours = Math.round((TPS * (1 - THROTTLED_SHARE) * SECONDS[run.mode]) / PARTS_OF_FOUR);
  const ids = [
    ...(await sendBulk(stage, numbers(0, fours), THREE_PARTS)),
    ...(await sendBulk(stage, numbers(fours, 3 * fours), 'Short')),
  ];
  run.say(`${ids.length} messages are accepted; the carrier takes ${TPS} parts a second and refuses 30 % of them`);
  await untilQuiet(stage, PATIENCE_MS);

  const records = await exportStatuses(stage, ids, hasEnded, PATIENCE_MS);
  const ledger = await stage.carrier.ledger();
  const figures = {
    ...compare({ ids, records, doubts: await listUnknown(stage), inDoubt: await listInDoubt(stage), ledger }),
    ...measure(ledger.submits),
  };
  return judge(figures, {
    'nothing is lost': figures.lost + figures.inDoubt === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'parts arrive in their order': figures.partsOutOfOrder === 0,
    // Beside other tests the processes get what time is left: that run is about the rest.
    'at least 90 % of the allowed rate is used': figures.meanRate >= (run.mode === 'tiny' ? 0.5 : 0.9),
    'never more than 110 % of it': figures.highestRate <= 1.1,
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
    /** Of what the carrier allows: every submit counts, also one that it refuses. */
    meanRate: round(steady.length / seconds / TPS),
    highestRate: round(mostWithin(submits, RATE_WINDOW_MS) / ((TPS * RATE_WINDOW_MS) / 1000)),
    refusalsIgnored: round(ignored(submits) / Math.max(1, refused.length)),
    partsOutOfOrder: countOutOfOrder(submits),
  };
}

const round = (ratio: number): number => Math.round(ratio * 1000) / 1000;

/** The most submits within any `spanMs`. */
function mostWithin(submits: readonly SubmitEntry[], spanMs: number): number {
  let [from, most] = [0, 0];
  submits.forEach(({ at }, i) => {
    while (at - (submits[from]?.at ?? at) >= spanMs) from++;
    most = Math.max(most, i - from + 1);
  });
  return most;
}

/** Refusals after which more came before the pause was over than what was under way already. */
function ignored(submits: readonly SubmitEntry[]): number {
  return submits.filter(({ status, at }, i) => {
    if (status !== 'ESME_RTHROTTLED') return false;
    const next = submits.slice(i + 1, i + 1 + WINDOW).find((later) => later.at > at + UNDER_WAY_MS);
    return next !== undefined && next.at < at + PAUSE_MS - 1;
  }).length;
}

/** Messages whose parts were taken in another order than they were cut. */
function countOutOfOrder(submits: readonly SubmitEntry[]): number {
  const parts = submits.filter(({ status, concat }) => status === 'ESME_ROK' && concat !== null);
  const messages = Map.groupBy(parts, ({ destination }) => destination);
  return [...messages.values()].filter((taken) => taken.some(({ concat }, i) => concat?.seq !== i + 1)).length;
}
