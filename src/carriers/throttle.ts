import { SECOND_MS } from '../platform/lib/time.ts';
import { createRecentCount } from './recent-count.ts';

/** How fast a carrier takes messages, as far as it has shown a limit: what the dispatcher keeps to. */
export type Pace = {
  /** Whether the next message may be written now. An agreed rate keeps a share for urgent messages. */
  ready(isUrgent?: boolean): boolean;
  /** Counts parts that are about to be written; below zero: parts that were not written after all. */
  take(parts: number): void;
  /** Returns in how many ms `ready` is worth asking again. */
  waitMs(isUrgent?: boolean): number;
};

/** The pace of a sender that has no limit. */
export const NO_LIMIT: Pace = { ready: () => true, take: () => undefined, waitMs: () => 0 };

/** One limit of a carrier: the rate that it allows, found by its refusals, and the pauses that it asks for. */
export type Throttle = Pace & {
  /** Returns a ticket for a part that is written now, to be given back when the carrier refuses it. */
  begin(): number;
  /** Notes that the carrier took the part of this ticket. */
  accepted(ticket?: number): void;
  /**
   * Notes that the carrier refused a part because there were too many. Lowers the rate; or pauses, when the carrier
   * takes nothing at all or asks for a pause of `minPauseMs`.
   */
  refused(ticket: number, minPauseMs?: number): void;
  /** Returns in how many ms a refused part may be sent again; twice as long for each try before this one. */
  retryMs(triesBefore?: number): number;
  /** Starts a pause of at least `minMs`, during which nothing may be sent. Does nothing during a pause. */
  pause(minMs?: number): void;
  /** Returns how much longer the pause lasts; 0 when there is none. */
  pauseMs(): number;
  /** Returns the rate in parts per second; Infinity as long as the carrier has shown no limit. */
  perSecond(): number;
  /** Cancels the end of the pause: `onEnd` is not called any more. */
  stop(): void;
};

const MAX_PAUSE_MS = 30_000;
/** After a refusal nothing is sent for this long: carriers that count by the second refuse until the second is over. */
const HOLD_MS = 100;
/** A cut is to leave the rate just below what the carrier took. */
const BELOW_LIMIT = 0.97;
const MIN_CUT = 0.95;
const MAX_CUT = 0.5;
/** Soon after another cut, what the carrier took in the last second still shows the time before that cut. */
const NEXT_CUT = 0.8;
/** What is sent at less than this part of the rate shows nothing of a limit just below the rate. */
const SLACK = 0.5;
/** While there is slack, fewer refusals than these in a second and in ten say nothing of the rate: all may be one part's. */
const FEW = 3;
const FEW_LATELY = 5;
/** While there is slack, no cut goes below this: if the limit is lower still, what waits takes the slack away. */
const SLACK_RATE = 10;
/** A carrier that refuses a smaller share has other reasons, such as a full queue of one recipient. */
const TOLERATED_SHARE = 0.02;
/** As many answers are needed to judge a rate. */
const MIN_ANSWERS = 10;
/** After as many cuts that left the share of refusals where it was, the rate is doubled to see what it has to do with it. */
const MAX_FRUITLESS_CUTS = 2;
/** A carrier that refuses more has a limit. */
const MAX_TRIAL_SHARE = 0.6;
/** As long as a carrier takes this part of the most that it took lately, nothing is wrong with the rate. */
const ENOUGH = 0.75;
/** Below this part a trial needs no fruitless cuts. */
const LITTLE = 0.4;
/** Within this time, what it took lately counts half as much. */
const HALF_LIFE_S = 30;
/**
 * A trial lasts this long, since some carriers count by the second. At twice its limit a carrier takes half as large a
 * share as before; the trial fails below these parts of it, earlier below the first.
 */
const TRIAL_MS = 1500;
const FAILS_EARLY = 0.6;
const FAILS = 0.75;
/** The wait before the next trial, doubled by each that fails. */
const TRIAL_WAIT_MS = 10_000;
const MAX_TRIAL_WAIT_MS = 300_000;
/** How long a share of refusals is taken for granted, doubled each time it is confirmed. */
const TOLERANCE_MS = 60_000;
const MAX_TOLERANCE_MS = 600_000;
/** How far the rate rises before it rises quickly. */
const GENTLE_RISE = 0.05;
/** The rise is slower at low rates: each look for a higher rate costs some refusals. */
const PARTS_PER_RISE = 20;
const MAX_RISE_S = 30;
const MIN_RATE = 0.5;
/** The rate after a pause, until the carrier takes a part. */
const PROBE_RATE = 10;
/** The share of a second that may be sent at once. */
const BURST_S = 0.1;
const MIN_ELAPSED_S = 0.25;
/** What was taken in a shorter time says little about the rate, except when everything waiting was sent at once. */
const MIN_BURST_S = 0.05;
/** The first rate of a network over HTTP; it doubles every tenth of a second. */
export const HTTP_FIRST_RATE = 100;
const DOUBLING_S = 0.1;
const NO_LIMIT_RATE = 50_000;

/**
 * Creates a limit. As long as the carrier refuses nothing, there is none, except that the rate begins with `firstRate`
 * and doubles every tenth of a second. After that it follows what the carrier takes:
 *
 * - A refusal lowers it to just below what the carrier took since the last refusal. Parts that were written before that
 *   do not lower it again.
 * - While it holds messages back, it rises: gently by a tenth at first, because the limit is probably where it was,
 *   then by the cube of the time, as TCP CUBIC does (RFC 9438, section 4.2). While nothing waits, it stays.
 * - A few refusals do not lower it while much less is sent than it allows, and more do not lower it below 10 then.
 * - When the carrier takes nothing at all, it pauses. Pauses double from `baseMs` to 30 s until the carrier takes a
 *   part.
 * - Refusals of less than 2 % do not lower it. When two cuts in a row leave the share of refusals where it was, the rate
 *   is doubled for a moment. If the share does not rise, it has another reason than the rate: it is tolerated for a
 *   minute, and the rate rises as at the beginning.
 *
 * `onEnd` is called when a pause ends. `now` is in ms.
 */
export function createThrottle(
  baseMs: number,
  onEnd: () => void,
  { firstRate = Number.POSITIVE_INFINITY, now = () => performance.now() } = {},
): Throttle {
  const taken = createRecentCount(now, SECOND_MS);
  const refusals = createRecentCount(now, SECOND_MS);
  const refusedLately = createRecentCount(now, 10 * SECOND_MS);
  let startedAt = now();
  let rate = firstRate;
  /** Whether the carrier has refused a part: until then, nothing is known of its limit. */
  let limited = false;
  let slowStart = firstRate;
  /** The rate of the last cut, and for how many seconds it has held messages back since then. */
  let base = rate;
  let heldS = 0;
  let cutAt = startedAt;
  /** Answers to parts that were begun since the last cut, or since the trial began. */
  let since = { taken: 0, refused: 0 };
  let tolerance = { share: TOLERATED_SHARE, until: Number.POSITIVE_INFINITY, ms: TOLERANCE_MS };
  /** How often in a row cuts left the share of refusals where it was, that share, and the answers since then. */
  let fruitless = { times: 0, share: 0, taken: 0, refused: 0 };
  /** The share of refusals before the rate was doubled to see whether it rises. */
  let trial: number | undefined;
  let nextTrial = { at: 0, waitMs: TRIAL_WAIT_MS };
  /** The most parts that the carrier took in a second, and when. */
  let most = { parts: 0, at: startedAt };
  let nextTicket = 0;
  let firstTicket = 0;
  let tokens = Math.max(1, firstRate * BURST_S);
  let filledAt = startedAt;
  let holdUntil = 0;
  let limiting = false;
  /** Nothing was taken since the last pause. */
  let probing = false;
  let pauseLength = baseMs;
  let pauseUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const perSecond = (): number => (probing ? Math.min(rate, PROBE_RATE) : rate);
  const pauseMs = (): number => (pauseUntil === 0 ? 0 : Math.max(1, Math.ceil(pauseUntil - now())));

  function refill(): void {
    const at = now();
    const seconds = (at - filledAt) / 1000;
    filledAt = at;
    const burst = Math.max(1, perSecond() * BURST_S);
    tokens = Math.min(burst, tokens + seconds * perSecond());
    if (!limiting) return;
    // A carrier that was not asked for a while has not shown that it would take more.
    heldS += Math.min(seconds, MIN_ELAPSED_S + 1 / rate);
    if (trial === undefined) rate = limited ? riseFrom(base, heldS) : slowStart * 2 ** (heldS / DOUBLING_S);
    if (!limited && rate > NO_LIMIT_RATE) rate = Number.POSITIVE_INFINITY;
  }

  const isUnlimited = (): boolean => rate === Number.POSITIVE_INFINITY && !probing;

  function ready(): boolean {
    if (isUnlimited()) return true;
    refill();
    const free = tokens >= 1 && now() >= holdUntil && pauseUntil === 0;
    limiting = !free && !probing;
    return free;
  }

  function changeRate(next: number): void {
    rate = Math.max(MIN_RATE, next);
    base = rate;
    heldS = 0;
    cutAt = now();
    since = { taken: 0, refused: 0 };
    firstTicket = nextTicket;
    limiting = false;
    tokens = Math.min(tokens, 0);
    filledAt = cutAt;
  }

  const hasSlack = (): boolean => taken.sum() + refusals.sum() < rate * SLACK;
  const areFew = (): boolean => hasSlack() && refusals.sum() < FEW && refusedLately.sum() < FEW_LATELY;

  function cutTo(next: number): void {
    const min = hasSlack() ? Math.min(rate, SLACK_RATE) : MIN_RATE;
    limited = true;
    changeRate(Math.max(next, min));
    holdUntil = cutAt + HOLD_MS;
  }

  const answers = (): number => since.taken + since.refused;
  const share = (): number => since.refused / Math.max(1, answers());

  function isTolerated(): boolean {
    if (now() > tolerance.until) tolerance = { ...tolerance, share: TOLERATED_SHARE, until: Number.POSITIVE_INFINITY };
    const parts = refusals.sum() + taken.sum();
    // The share of a few parts differs from that of many by chance. Of the usual share, one refusal is too much.
    const chance = tolerance.share === TOLERATED_SHARE ? 0 : 1 + 2 * Math.sqrt(parts * tolerance.share);
    return refusals.sum() <= tolerance.share * parts + chance;
  }

  function beginTrial(): void {
    trial = fruitless.share;
    changeRate(rate * 2);
  }

  /** Ends the trial when it has shown whether the share of refusals rises with the rate. */
  function judgeTrial(before: number): void {
    const ms = now() - cutAt;
    const expected = answers() * (1 - before);
    if (expected < MIN_ANSWERS || (ms < TRIAL_MS && since.taken > expected * FAILS_EARLY)) return;
    trial = undefined;
    fruitless = { times: 0, share: 0, taken: 0, refused: 0 };
    if (since.taken < expected * FAILS) {
      nextTrial = { at: now() + nextTrial.waitMs, waitMs: Math.min(nextTrial.waitMs * 2, MAX_TRIAL_WAIT_MS) };
      most.parts /= 2;
      return cutTo((rate / 2) * MIN_CUT);
    }
    nextTrial = { at: 0, waitMs: TRIAL_WAIT_MS };
    const { ms: toleranceMs } = tolerance;
    tolerance = {
      share: Math.min(0.9, Math.max(before, share()) * 1.25 + TOLERATED_SHARE),
      until: now() + toleranceMs,
      ms: Math.min(toleranceMs * 2, MAX_TOLERANCE_MS),
    };
    limited = false;
    slowStart = rate;
    changeRate(rate);
  }

  /** The rate at which the carrier has just taken parts. */
  function recentRate(): number {
    const min = firstRate === Number.POSITIVE_INFINITY ? MIN_BURST_S : MIN_ELAPSED_S;
    const seconds = Math.min(1, Math.max(min, (now() - startedAt) / 1000));
    return taken.sum() / seconds;
  }

  /** Whether cuts do not help: the share of refusals stays where it was. */
  function isFruitless(): boolean {
    const { taken: took, refused: not, times, share: before } = fruitless;
    if (took + not >= MIN_ANSWERS) {
      const after = not / (took + not);
      fruitless = { times: after > before / 2 ? times + 1 : 0, share: after, taken: 0, refused: 0 };
    }
    if (fruitless.share > MAX_TRIAL_SHARE) return false;
    return takesLessThan(fruitless.times >= MAX_FRUITLESS_CUTS ? ENOUGH : LITTLE);
  }

  /** Whether the carrier takes less than this part of the most that it took lately; at a limit it would not. */
  function takesLessThan(part: number): boolean {
    const parts = taken.sum();
    const before = most.parts * 2 ** ((most.at - now()) / 1000 / HALF_LIFE_S);
    if (parts >= before) most = { parts, at: now() };
    return parts < before * part;
  }

  function lowerRate(): void {
    if (!limited) {
      const before = refusals.sum() / (refusals.sum() + taken.sum());
      fruitless = { times: 0, share: before, taken: 0, refused: 0 };
      most = { parts: taken.sum(), at: now() };
      return cutTo(recentRate() * BELOW_LIMIT);
    }
    if (isFruitless() && now() >= nextTrial.at) return beginTrial();
    const seconds = (now() - cutAt) / 1000;
    const sinceCut = since.taken / Math.max(seconds, 0.001);
    if (seconds < 1) return cutTo(rate * (sinceCut < rate * (1 - MAX_CUT) ? NEXT_CUT : MIN_CUT));
    const limit = Math.max(sinceCut, recentRate()) * BELOW_LIMIT;
    cutTo(Math.min(rate * MIN_CUT, Math.max(rate * MAX_CUT, limit)));
  }

  function refused(ticket: number, minPauseMs = 0): void {
    refusals.add();
    refusedLately.add();
    // Later parts of messages that were begun before do not wait, and are refused together.
    if (ticket < firstTicket) return;
    since.refused++;
    fruitless.refused++;
    if (trial !== undefined && minPauseMs === 0) return judgeTrial(trial);
    if (now() < holdUntil) return;
    if (minPauseMs > 0 || since.taken + taken.sum() === 0) {
      firstTicket = nextTicket;
      pause(minPauseMs);
    } else if (!areFew() && !isTolerated()) lowerRate();
  }

  function pause(minMs = 0): void {
    if (pauseUntil !== 0) return;
    const ms = Math.max(pauseLength, minMs);
    pauseUntil = now() + ms;
    timer = setTimeout(end, ms);
    pauseLength = Math.min(pauseLength * 2, MAX_PAUSE_MS);
  }

  function end(): void {
    pauseUntil = 0;
    probing = true;
    tokens = 1;
    filledAt = now();
    onEnd();
  }

  return {
    ready,
    take(parts) {
      if (!isUnlimited()) tokens -= parts;
    },
    waitMs() {
      if (isUnlimited()) return 0;
      const tokenMs = tokens >= 1 ? 0 : ((1 - tokens) * 1000) / perSecond();
      return Math.ceil(Math.max(tokenMs, holdUntil - now(), pauseMs()));
    },
    begin() {
      if (nextTicket === 0) startedAt = now();
      return nextTicket++;
    },
    accepted(ticket = nextTicket) {
      taken.add();
      if (ticket >= firstTicket) {
        since.taken++;
        fruitless.taken++;
      } else if (now() < holdUntil && fruitless.times === 0 && trial === undefined) {
        // The first refusal of a burst is answered before most of the parts that the carrier takes of it.
        base = rate = Math.max(rate, recentRate() * BELOW_LIMIT);
      }
      if (trial !== undefined) judgeTrial(trial);
      probing = false;
      pauseLength = baseMs;
    },
    refused,
    retryMs: (triesBefore = 0) => Math.max(pauseMs(), Math.min(MAX_PAUSE_MS, (baseMs / 2) * 2 ** triesBefore)),
    pause,
    pauseMs,
    perSecond,
    stop: () => clearTimeout(timer),
  };
}

/** The rate that has held messages back for some seconds since it was set to `base`. */
function riseFrom(base: number, seconds: number): number {
  const riseS = Math.min(MAX_RISE_S, Math.max(1, PARTS_PER_RISE / base));
  return base * (1 + GENTLE_RISE * ((seconds / riseS - 1) ** 3 + 1));
}

/** The limits of the senders of a carrier, which its network counts separately. */
export type Throttles = {
  of(sender: string): Throttle;
  /** Whether all senders that were asked for pause. */
  allPaused(): boolean;
  stop(): void;
};

/** Creates a limit for each sender of an HTTP carrier. Senders are few, because operators assign them to accounts. */
export function createThrottles(baseMs: number, onEnd: () => void): Throttles {
  const all = new Map<string, Throttle>();
  return {
    of(sender) {
      const known = all.get(sender);
      if (known) return known;
      const throttle = createThrottle(baseMs, onEnd, { firstRate: HTTP_FIRST_RATE });
      all.set(sender, throttle);
      return throttle;
    },
    allPaused: () => all.size > 0 && [...all.values()].every((throttle) => throttle.pauseMs() > 0),
    stop: () => all.forEach((throttle) => throttle.stop()),
  };
}
