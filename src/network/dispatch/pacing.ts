import type { Carrier } from '../../carriers/carrier.ts';
import type { TokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import type { Job } from './held.ts';

/** Minimum wait: messages written within it are committed together. */
const MIN_WAIT_MS = 5;

/** Keeps messages within the rate of a connection and the pace of their senders. */
export type Pacing = {
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
