import type { Carrier } from '../channels/carrier.ts';
import type { TokenBucket } from '../core/limits.ts';
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
};

/** Creates the pacing of one pump. */
export function createPacing(carrier: Carrier, bucket: TokenBucket): Pacing {
  let leastMs = Number.POSITIVE_INFINITY;

  function take({ sender }: Job, parts: number): void {
    bucket.take(parts);
    carrier.paceOf?.(sender).take(parts);
  }

  return {
    allow(job, isUrgent) {
      const pace = carrier.paceOf?.(job.sender);
      const limit = !bucket.ready(isUrgent) ? bucket : pace?.ready(isUrgent) === false ? pace : null;
      if (limit === null) take(job, job.parts);
      else leastMs = Math.min(leastMs, Math.max(MIN_WAIT_MS, limit.waitMs(isUrgent)));
      return limit === null;
    },
    giveBack: (job) => take(job, -job.parts),
    begin() {
      leastMs = Number.POSITIVE_INFINITY;
    },
    waitMs: (maxMs) => Math.min(maxMs, leastMs),
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
 * one-time code waits for 0.2 s. So there may be as many under way as the carrier answers within 25 ms, or within twice
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
