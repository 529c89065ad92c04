import { LRUCache } from 'lru-cache';
import type { Carrier } from '../channels/carrier.ts';
import { createTokenBucket, type TokenBucket } from '../core/limits.ts';
import type { Job } from './held.ts';

/** Minimum wait: messages written within it are committed together. */
const MIN_WAIT_MS = 5;

/** Keeps messages within the rate of a connection and the pace of their senders. */
type Pacing = {
  /** Takes the turn of a message; returns false when it must wait. */
  allow(job: Job, isUrgent: boolean): boolean;
  /** Gives the turn of a message back that was not written after all. */
  giveBack(job: Job): void;
  /** Begins to record how long the messages must wait that `allow` rejects. */
  begin(): void;
  /** Returns how long the first of them must wait, at most `maxMs`. */
  waitMs(maxMs: number): number;
  /** Sets how many workers, including this one, share the rates of registered senders. */
  share(workers: number): void;
};

/** Rates of registered senders that are kept in memory; the least recently used is dropped, and begins with a burst. */
const MAX_SENDER_RATES = 10_000;

type Limit = ReturnType<NonNullable<Carrier['paceOf']>>;

export function createPacing(carrier: Carrier, bucket: TokenBucket): Pacing {
  let leastMs = Number.POSITIVE_INFINITY;
  let sharers = 1;
  const senderBuckets = new LRUCache<number, TokenBucket>({ max: MAX_SENDER_RATES });

  function senderBucketOf(id: number, tps: number): TokenBucket {
    const known = senderBuckets.get(id) ?? createTokenBucket(tps / sharers);
    if (known.perSecond() !== tps / sharers) known.setRate(tps / sharers);
    senderBuckets.set(id, known);
    return known;
  }

  /** Returns the limits of a message, the most general one first. */
  function limitsOf({ sender, registration }: Job): readonly Limit[] {
    const pace = carrier.paceOf?.(sender);
    return [
      bucket,
      ...(pace ? [pace] : []),
      ...(registration?.tps ? [senderBucketOf(registration.id, registration.tps)] : []),
    ];
  }

  return {
    allow(job, isUrgent) {
      const limits = limitsOf(job);
      const limit = limits.find((each) => !each.ready(isUrgent));
      if (limit === undefined) for (const each of limits) each.take(job.parts);
      else leastMs = Math.min(leastMs, Math.max(MIN_WAIT_MS, limit.waitMs(isUrgent)));
      return limit === undefined;
    },
    giveBack(job) {
      for (const each of limitsOf(job)) each.take(-job.parts);
    },
    begin() {
      leastMs = Number.POSITIVE_INFINITY;
    },
    waitMs: (maxMs) => Math.min(maxMs, leastMs),
    share(workers) {
      sharers = workers;
    },
  };
}

/** Time that bulk written to a carrier may keep it busy. */
const BUSY_MS = 25;
/** Messages that may always be under way. */
const MIN_UNDER_WAY = 100;
/** Interval at which the rate is computed again. */
const RATE_MS = 100;

/** Part of a window that bulk may use while single sends share it. */
type BulkShare = {
  /**
   * Records a write; returns the function to call with true if it was accepted, or undefined if this one is not timed.
   * A message that was not accepted may never have reached the carrier, and does not show its response time.
   */
  written(): ((accepted: boolean) => void) | undefined;
  /** Records this many responses. */
  answered(count: number): void;
  /** Returns how many messages may be at the carrier without a response. */
  maxUnderWay(): number;
};

/**
 * Creates the share of one connection. A carrier responds in turn: behind a window of 2,000, which takes it 0.2 s, a
 * one-time code waits for 0.2 s. So there may be as many under way as the carrier responds to within 25 ms, or within twice
 * its shortest response time if that is longer, and always a hundred.
 */
export function createBulkShare(now: () => number = () => performance.now()): BulkShare {
  let shortestMs = Number.POSITIVE_INFINITY;
  let isTiming = false;
  let perMs = 0;
  let count = 0;
  let since = now();
  return {
    written() {
      if (isTiming) return undefined;
      isTiming = true;
      const writtenAt = now();
      return (accepted) => {
        isTiming = false;
        if (accepted) shortestMs = Math.min(shortestMs, now() - writtenAt);
      };
    },
    answered(more) {
      count += more;
      const tookMs = now() - since;
      if (tookMs < RATE_MS) return;
      [perMs, count, since] = [count / tookMs, 0, now()];
    },
    maxUnderWay() {
      const ms = Number.isFinite(shortestMs) ? Math.max(BUSY_MS, 2 * shortestMs) : BUSY_MS;
      return Math.max(MIN_UNDER_WAY, Math.round(perMs * ms));
    },
  };
}
