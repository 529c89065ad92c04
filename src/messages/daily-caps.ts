import type { Outcome } from '../channels/carrier.ts';
import type { Db } from '../core/db/query.ts';
import { DAY_MS } from '../core/time.ts';
import type { Job } from '../dispatch/held.ts';
import { takeDailyParts } from '../routing/registered-senders.ts';

/** Keeps the messages of one connection within the daily caps of registered senders. */
export type DailyCaps = {
  /** Counts the parts of messages that are about to be sent; those beyond a cap wait for the next day. */
  limit(jobs: (Job | undefined)[][]): Promise<(Job | undefined)[][]>;
  /** Records an outcome: the parts of a message that no carrier has taken are given back with the next `limit`. */
  settled(job: Job, outcome: Outcome): void;
};

/**
 * Creates the caps. Parts are counted before they are sent, so that all workers together never exceed a cap; those that
 * a worker held when it ended stay counted for the rest of the day.
 */
export function createDailyCaps(db: Db, now: () => number = Date.now): DailyCaps {
  /** Parts of a day that were counted and not sent, by registration. */
  let returned = new Map<number, number>();
  let day = dayOf(now());
  const giveBack = (id: number, parts: number): void => void returned.set(id, (returned.get(id) ?? 0) + parts);

  return {
    async limit(jobs) {
      if (dayOf(now()) !== day) [day, returned] = [dayOf(now()), new Map()];
      const asked = new Map<number, number>();
      for (const job of jobs.flat())
        if (job?.registration?.dailyCap && !job.refusal)
          asked.set(job.registration.id, (asked.get(job.registration.id) ?? 0) + job.parts);
      if (asked.size === 0) return jobs;
      const uses = [...asked].map(([id, parts]) => ({ id, asked: parts, returned: returned.get(id) ?? 0 }));
      for (const { id } of uses) returned.delete(id);
      const left = new Map((await takeDailyParts(db, uses)).map(({ id, granted }) => [id, granted]));
      const limited = jobs.map((own) =>
        own.map((job) => {
          if (!job?.registration?.dailyCap || job.refusal) return job;
          const rest = (left.get(job.registration.id) ?? 0) - job.parts;
          if (rest < 0) return { ...job, refusal: untilTomorrow(now()) };
          left.set(job.registration.id, rest);
          return job;
        }),
      );
      for (const [id, parts] of left) if (parts > 0) giveBack(id, parts);
      return limited;
    },
    settled({ registration, parts }, outcome) {
      const isUnsent = outcome.kind === 'retry' || outcome.kind === 'refused';
      if (registration?.dailyCap && isUnsent && dayOf(now()) === day) giveBack(registration.id, parts);
    },
  };
}

/** Days in UTC since 1970. */
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

const untilTomorrow = (ms: number): Outcome => ({
  kind: 'retry',
  afterMs: (dayOf(ms) + 1) * DAY_MS - ms,
  counts: false,
  code: 'DAILY_CAP',
  text: "the daily cap of the sender's registration is reached",
});
