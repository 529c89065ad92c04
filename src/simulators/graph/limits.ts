import { createTokenBucket, type TokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import type { Fault } from './answer.ts';
import type { GraphScript } from './script.ts';

/** The time after which the pair may exchange one more message (Cloud API, rate limits). */
const PAIR_REFILL_MS = 6000;
/** The newest pairs of a number and a person whose messages are counted and whose window is known. */
const MAX_PAIRS = 200_000;

/** The rate limits of the simulator. */
export type Limits = {
  /** Counts a message; returns a fault when the number or the pair exceeds its limit. */
  take(phoneNumberId: string, person: string): Fault | null;
};

/** Creates the rate limits: per number, and per pair of a number and a person. */
export function createLimits(script: GraphScript): Limits {
  const numbers = new Map<string, TokenBucket>();
  const pairs = createRecentMap<{ used: number; at: number }>(() => MAX_PAIRS);

  function numberAllows(phoneNumberId: string): boolean {
    if (script.tps === 0) return true;
    const bucket = numbers.get(phoneNumberId) ?? createTokenBucket(script.tps);
    numbers.set(phoneNumberId, bucket);
    if (bucket.perSecond() !== script.tps) bucket.setRate(script.tps);
    if (!bucket.ready()) return false;
    bucket.take(1);
    return true;
  }

  function pairAllows(key: string): boolean {
    if (script.pairBurst === 0) return true;
    const now = performance.now();
    const pair = pairs.get(key);
    const used = pair ? Math.max(0, pair.used - (now - pair.at) / PAIR_REFILL_MS) : 0;
    if (used + 1 > script.pairBurst) return false;
    pairs.set(key, { used: used + 1, at: now });
    return true;
  }

  return {
    take(phoneNumberId, person) {
      if (!numberAllows(phoneNumberId))
        return { code: 130429, details: 'Cloud API message throughput has been reached.' };
      if (pairAllows(`${phoneNumberId}/${person}`)) return null;
      return { code: 131056, details: 'Too many messages sent from this phone number to the same person.' };
    },
  };
}

/** The customer service windows of the simulator. */
export type Windows = {
  /** Opens the window, because the person has written. */
  open(phoneNumberId: string, person: string): void;
  /** Returns true if free-form messages to the person are allowed. */
  isOpen(phoneNumberId: string, person: string): boolean;
};

/** Creates the customer service windows (Cloud API, rate limits). */
export function createWindows(script: GraphScript): Windows {
  const lastHeard = createRecentMap<number>(() => MAX_PAIRS);
  return {
    open: (phoneNumberId, person) => lastHeard.set(`${phoneNumberId}/${person}`, performance.now()),
    isOpen(phoneNumberId, person) {
      const at = lastHeard.get(`${phoneNumberId}/${person}`);
      return script.windowMs === 0 || (at !== undefined && performance.now() - at <= script.windowMs);
    },
  };
}
