import { LRUCache } from 'lru-cache';
import { createTokenBucket } from '../../platform/lib/token-bucket.ts';
import { createThrottle } from '../throttle.ts';
import type { WhatsappSettings } from './settings.ts';

/** One number of ours: the network counts and restricts each of them for itself. */
export type SendingNumber = {
  readonly id: string;
  /** How long the next message must wait to keep the rate, in ms; the place in the row is taken by that. */
  takeTurn(): number;
  /** The network wants less of this number. */
  pause(leastMs?: number): void;
  pauseMs(): number;
  /** Set while it needs a person: not registered, restricted, not paid for. */
  fault(): string | null;
  setFault(text: string): void;
  /** The network took a message to this person. */
  flowing(person: string): void;
  /** One more message was too much for this person: how long the pair of them must rest, in ms. */
  pairPauseMs(person: string): number;
};

export type Numbers = {
  get(id: string): SendingNumber | undefined;
  /** Whether none of them may send now. */
  allPause(): boolean;
  /** How many have no fault. */
  countGood(): number;
  firstFault(): string | null;
  stop(): void;
};

/** 4^X seconds, X from 0 (protocol sheet whatsapp, section 9); longer than 17 minutes helps nobody. */
const LONGEST_PAIR_EXPONENT = 5;
const PAIRS_KEPT = 10_000;

/** `changed` is called when a pause ends. */
export function createNumbers(settings: WhatsappSettings, changed: () => void): Numbers {
  const numbers = settings.phoneNumberIds.map((id) => createNumber(id, settings, changed));
  const byId = new Map(numbers.map((number) => [number.id, number]));
  return {
    get: (id) => byId.get(id),
    allPause: () => numbers.every((number) => number.pauseMs() > 0),
    countGood: () => numbers.filter((number) => number.fault() === null).length,
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
  /** How often in a row each person had too many. */
  const pairs = new LRUCache<string, number>({ max: PAIRS_KEPT });
  let fault: string | null = null;
  return {
    id,
    takeTurn() {
      const waitMs = bucket.waitMs();
      bucket.take(1);
      return waitMs;
    },
    pause: throttle.hit,
    pauseMs: throttle.remainingMs,
    fault: () => fault,
    setFault(text) {
      fault = text;
    },
    flowing(person) {
      throttle.ease();
      fault = null;
      if (pairs.size > 0) pairs.delete(person);
    },
    pairPauseMs(person) {
      const times = pairs.get(person) ?? 0;
      pairs.set(person, times + 1);
      return 4 ** Math.min(times, LONGEST_PAIR_EXPONENT) * 1000;
    },
    stop: throttle.stop,
  };
}
