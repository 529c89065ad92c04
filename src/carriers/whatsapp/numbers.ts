import { LRUCache } from 'lru-cache';
import { createTokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import { createThrottle, type Pace } from '../throttle.ts';
import type { WhatsappSettings } from './settings.ts';

/** One of our numbers: the network counts and restricts each one separately. */
export type SendingNumber = {
  readonly id: string;
  /** Reserves the next turn within the rate and returns the wait for it, in ms. */
  takeTurn(): number;
  /** Rate at which the network takes messages of this number. */
  readonly pace: Pace;
  /** Returns a ticket for a message that is sent now, to be given back if the network rejects it. */
  begin(): number;
  /**
   * Records that the network rejected a message because there were too many; returns the delay in ms before a repeat.
   */
  tooMany(ticket: number, minPauseMs: number): number;
  /** Pauses this number for at least `minMs`, because the network takes nothing from it. */
  pause(minMs?: number): void;
  /** Returns the remaining time of the pause; 0 if there is none. */
  pauseMs(): number;
  /** Returns the reason why the operator must act (not registered, restricted, not paid for), or null. */
  fault(): string | null;
  /** Records a reason for the operator to act. */
  setFault(text: string): void;
  /** Clears the fault and the backoffs, because the network accepted a message to this person. */
  messageAccepted(person: string, ticket: number): void;
  /** Counts one more message that was too many for this person; returns the wait before the next one, in ms. */
  pairPauseMs(person: string): number;
};

/** The numbers of one connection. */
export type Numbers = {
  get(id: string): SendingNumber | undefined;
  /** Returns true if no number may send now. */
  allPaused(): boolean;
  /** Returns the number of phone numbers without a fault. */
  countHealthy(): number;
  /** Returns the fault of the first number that has one, or null. */
  firstFault(): string | null;
  stop(): void;
};

/**
 * The wait is 4^X seconds, with X from 0 (Cloud API, rate limits); waiting more than 17 minutes is
 * pointless.
 */
const MAX_PAIR_EXPONENT = 5;
const MAX_PAIRS = 10_000;

/** Creates the numbers of the settings. `changed` is called when a pause ends. */
export function createNumbers(settings: WhatsappSettings, changed: () => void): Numbers {
  const numbers = settings.phoneNumberIds.map((id) => createNumber(id, settings, changed));
  const byId = new Map(numbers.map((number) => [number.id, number]));
  return {
    get: (id) => byId.get(id),
    allPaused: () => numbers.every((number) => number.pauseMs() > 0),
    countHealthy: () => numbers.filter((number) => number.fault() === null).length,
    firstFault: () => numbers.find((number) => number.fault() !== null)?.fault() ?? null,
    stop: () => numbers.forEach((number) => number.stop()),
  };
}

function createNumber(
  id: string,
  { tps, throttlePauseMs }: WhatsappSettings,
  changed: () => void,
): SendingNumber & { stop(): void } {
  const bucket = createTokenBucket(tps);
  const throttle = createThrottle(throttlePauseMs, changed);
  /** Number of consecutive times that each person had too many messages. */
  const pairs = new LRUCache<string, number>({ max: MAX_PAIRS });
  let fault: string | null = null;
  return {
    id,
    takeTurn() {
      const waitMs = bucket.waitMs();
      bucket.take(1);
      return waitMs;
    },
    pace: throttle,
    begin: throttle.begin,
    tooMany(ticket, minPauseMs) {
      throttle.refused(ticket, minPauseMs);
      return throttle.retryMs();
    },
    pause: throttle.pause,
    pauseMs: throttle.pauseMs,
    fault: () => fault,
    setFault(text) {
      fault = text;
    },
    messageAccepted(person, ticket) {
      throttle.accepted(ticket);
      fault = null;
      if (pairs.size > 0) pairs.delete(person);
    },
    pairPauseMs(person) {
      const times = pairs.get(person) ?? 0;
      pairs.set(person, times + 1);
      return 4 ** Math.min(times, MAX_PAIR_EXPONENT) * 1000;
    },
    stop: throttle.stop,
  };
}
