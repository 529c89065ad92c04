import { SECOND_MS } from '../core/time.ts';

/** Rate at which a carrier takes messages, as far as it has shown a limit; the dispatcher keeps to it. */
export type Pace = {
  /** Returns true if the next message may be written now. An agreed rate keeps a share for urgent messages. */
  ready(isUrgent?: boolean): boolean;
  /** Counts parts that are about to be written; below zero: parts that were not written after all. */
  take(parts: number): void;
  /** Returns the ms until `ready` is worth checking again. */
  waitMs(isUrgent?: boolean): number;
};

export const NO_LIMIT: Pace = { ready: () => true, take: () => undefined, waitMs: () => 0 };

/** One limit of a carrier: the rate that it allows, found by its rejections, and the pauses that it asks for. */
export type Throttle = Pace & {
  /** Returns a ticket for a part that is written now, to be given back if the carrier rejects it. */
  begin(): number;
  /** Records that the carrier took the part of this ticket. */
  accepted(ticket?: number): void;
  /**
   * Records that the carrier rejected a part because there were too many. Lowers the rate; or pauses, if the carrier
   * takes nothing at all or asks for a pause of `minPauseMs`.
   */
  refused(ticket: number, minPauseMs?: number): void;
  /** Returns the delay in ms after which a rejected part may be sent again; twice as long for each previous attempt. */
  retryMs(triesBefore?: number): number;
  /** Starts a pause of at least `minMs`, during which nothing may be sent. Does nothing during a pause. */
  pause(minMs?: number): void;
  /** Returns the remaining time of the pause; 0 if there is none. */
  pauseMs(): number;
  /** Returns the rate in parts per second; Infinity as long as the carrier has shown no limit. */
  perSecond(): number;
  /** Cancels the end of the pause: `onEnd` is no longer called. */
  stop(): void;
};

/** Pauses of a carrier that takes nothing double up to this. */
const MAX_PAUSE_MS = 30_000;
/** Pause after a cut: responses to parts written before it would otherwise cause the next cut. */
const HOLD_MS = 100;
/** A carrier that rejects a smaller share has other reasons than the rate, such as a full queue of one recipient. */
const TOLERATED_SHARE = 0.02;
/**
 * A cut leaves slightly less than the carrier took in the last second, and these shares of the rate at most and at
 * least.
 */
const BELOW_TAKEN = 0.97;
const MIN_CUT_SHARE = 0.95;
const MAX_CUT_SHARE = 0.5;
const NEXT_CUT = 0.8;
/** The lowest rate: long codes in the United States take one message a second. */
const FLOOR = 0.5;
/** While nothing waits the limit is not known to be below this, and rejections for a few recipients delay no one. */
const IDLE_FLOOR = 10;
/**
 * After a cut the rate rises by this share in a second, or in as many parts: each probe for a higher one costs
 * rejections.
 */
const RISE = 0.05;
const RISE_S = 1;
const RISE_PARTS = 20;
/** The rate after a pause, until the carrier takes a part. */
const PROBE_RATE = 10;
/** Share of a second's messages that may be sent at the same time. */
const BURST_S = 0.1;

/**
 * Creates a limit. As long as the carrier rejects nothing, there is none. A rejection cuts the rate to the number that
 * the carrier took in the last second; parts that were begun before a cut cause no other one. While messages wait, the
 * rate rises by the cube of the time, as TCP CUBIC does (RFC 9438, section 4.2): slowly near the limit that was found,
 * quickly when it is gone. If the carrier takes nothing at all, it pauses, from `baseMs` to 30 s, until a part is
 * taken.
 *
 * `onEnd` is called when a pause ends.
 */
export function createThrottle(baseMs: number, onEnd: () => void): Throttle {
  const now = (): number => performance.now();
  const taken = createRecentCount(now, SECOND_MS);
  const refusals = createRecentCount(now, SECOND_MS);
  /** The rate after the last cut; Infinity as long as the carrier has shown no limit. */
  let base = Number.POSITIVE_INFINITY;
  /** Seconds for which messages have waited since then. */
  let waitedS = 0;
  let isWaiting = false;
  let cutAt = 0;
  let takenSinceCut = 0;
  let nextTicket = 0;
  let firstTicket = 0;
  let tokens = 1;
  let filledAt = 0;
  let holdUntil = 0;
  let pauseLength = baseMs;
  let pauseUntil = 0;
  /** Nothing was taken since the last pause. */
  let isProbing = false;
  let timer: NodeJS.Timeout | undefined;

  const perSecond = (): number => {
    if (isProbing) return PROBE_RATE;
    if (base === Number.POSITIVE_INFINITY) return base;
    const riseS = Math.max(RISE_S, RISE_PARTS / base);
    return base * (1 + RISE * ((waitedS / riseS - 1) ** 3 + 1));
  };
  const isUnlimited = (): boolean => base === Number.POSITIVE_INFINITY && !isProbing;
  const pauseMs = (): number => (pauseUntil === 0 ? 0 : Math.max(1, Math.ceil(pauseUntil - now())));

  function ready(): boolean {
    if (isUnlimited()) return true;
    const seconds = (now() - filledAt) / SECOND_MS;
    filledAt = now();
    // A carrier that was not asked for a while has not proven that it would take more.
    if (isWaiting) waitedS += Math.min(seconds, 1 / perSecond() + BURST_S);
    tokens = Math.min(Math.max(1, perSecond() * BURST_S), tokens + seconds * perSecond());
    const isFree = tokens >= 1 && now() >= holdUntil && pauseUntil === 0;
    isWaiting = !isFree && !isProbing;
    return isFree;
  }

  function cut(): void {
    const rate = perSecond();
    const seconds = (now() - cutAt) / SECOND_MS;
    const sinceCut = takenSinceCut / seconds;
    const limit = Math.max(1, taken.sum(), sinceCut) * BELOW_TAKEN;
    // In the first second, the taken parts include the time before the last cut as well.
    const least =
      seconds < 1 ? (sinceCut < rate / 2 ? NEXT_CUT : MIN_CUT_SHARE) * rate : Math.max(rate * MAX_CUT_SHARE, limit);
    const next = base === Number.POSITIVE_INFINITY ? limit : Math.min(rate * MIN_CUT_SHARE, least);
    base = Math.max(next, isWaiting ? FLOOR : IDLE_FLOOR);
    waitedS = takenSinceCut = 0;
    isWaiting = false;
    firstTicket = nextTicket;
    cutAt = filledAt = now();
    tokens = Math.min(tokens, 0);
    holdUntil = cutAt + HOLD_MS;
  }

  /** Returns true if the carrier rejected so few parts in the last second that the rate need not be the reason. */
  function isTolerated(): boolean {
    const answers = refusals.sum() + taken.sum();
    if (!isWaiting && answers < IDLE_FLOOR) return true;
    const usual = TOLERATED_SHARE * answers;
    return refusals.sum() <= usual + Math.sqrt(usual);
  }

  function pause(minMs = 0): void {
    if (pauseUntil !== 0) return;
    const ms = Math.max(pauseLength, minMs);
    pauseUntil = now() + ms;
    pauseLength = Math.min(pauseLength * 2, MAX_PAUSE_MS);
    timer = setTimeout(() => {
      pauseUntil = 0;
      isProbing = true;
      tokens = 1;
      filledAt = now();
      onEnd();
    }, ms);
  }

  return {
    ready,
    take(parts) {
      if (!isUnlimited()) tokens -= parts;
    },
    waitMs() {
      if (isUnlimited()) return 0;
      const tokenMs = tokens >= 1 ? 0 : ((1 - tokens) * SECOND_MS) / perSecond();
      return Math.ceil(Math.max(tokenMs, holdUntil - now(), pauseMs()));
    },
    begin: () => nextTicket++,
    accepted(ticket = nextTicket) {
      taken.add();
      if (ticket >= firstTicket) takenSinceCut++;
      // The first rejection of a burst arrives before most of the parts that the carrier takes of it.
      else if (now() < holdUntil) base = Math.max(base, taken.sum() * BELOW_TAKEN);
      isProbing = false;
      pauseLength = baseMs;
    },
    refused(ticket, minPauseMs = 0) {
      refusals.add();
      if (ticket < firstTicket || now() < holdUntil) return;
      if (minPauseMs > 0 || takenSinceCut + taken.sum() === 0) {
        firstTicket = nextTicket;
        pause(minPauseMs);
      } else if (!isTolerated()) cut();
    },
    retryMs: (triesBefore = 0) => Math.max(pauseMs(), Math.min(MAX_PAUSE_MS, (baseMs / 2) * 2 ** triesBefore)),
    pause,
    pauseMs,
    perSecond,
    stop: () => clearTimeout(timer),
  };
}

/** The limits of the senders of a carrier, which its network counts separately. */
export type Throttles = {
  of(sender: string): Throttle;
  /** Returns true if all senders that were asked for pause. */
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
      const throttle = createThrottle(baseMs, onEnd);
      all.set(sender, throttle);
      return throttle;
    },
    allPaused: () => all.size > 0 && [...all.values()].every((throttle) => throttle.pauseMs() > 0),
    stop: () => all.forEach((throttle) => throttle.stop()),
  };
}

const SLOTS = 10;

/** Counts events of the last `ms`, to a tenth of that time. `now` is in ms. */
function createRecentCount(now: () => number, ms: number) {
  const slotMs = ms / SLOTS;
  const counts = new Int32Array(SLOTS);
  let slot = Math.floor(now() / slotMs);
  function advance(): void {
    const current = Math.floor(now() / slotMs);
    if (current === slot) return;
    for (let next = Math.max(slot + 1, current - SLOTS + 1); next <= current; next++) counts[next % SLOTS] = 0;
    slot = current;
  }
  return {
    add() {
      advance();
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
    },
    sum() {
      advance();
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}
