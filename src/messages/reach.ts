import type { Pool } from 'pg';
import type { Outcome } from '../channels/carrier.ts';
import { personOf } from '../core/phone.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import type { Job } from '../dispatch/held.ts';
import type { Chunk } from '../dispatch/store.ts';
import { type Approach, findLimit, returnPeople, takePeople } from '../routing/messaging-limits.ts';

type Jobs = (Job | undefined)[][];

/** Keeps the messages of one connection within the messaging limit of its portfolio. */
export type Reach = {
  /** Counts the people whom messages would reach first; those beyond the limit wait. */
  limit(chunks: readonly Pick<Chunk, 'accountId' | 'priority'>[], jobs: Jobs): Promise<Jobs>;
  /** Records an outcome: a person whose message was rejected does not count. */
  settled(job: Job, outcome: Outcome): void;
};

/** Time after which a limit is read again. */
const KNOWN_MS = 10 * SECOND_MS;

/** Creates the limit of a connection. A limit that is not known limits nothing. */
export function createReach(pool: Pool, connectionId: number): Reach {
  let known: { readonly until: number; readonly limit: Awaited<ReturnType<typeof findLimit>> } | null = null;
  let returned: string[] = [];

  async function limitNow() {
    if (known === null || known.until < Date.now())
      known = { until: Date.now() + KNOWN_MS, limit: await findLimit(pool, { connectionId }) };
    return known.limit;
  }

  return {
    async limit(chunks, jobs) {
      const places = jobs.flatMap((own, i) => own.flatMap((job, k) => (isApproach(job) ? [{ i, k, job }] : [])));
      if (places.length === 0) return jobs;
      const limit = await limitNow();
      if (!limit) return jobs;
      const [persons, { portfolio }] = [returned, limit];
      returned = [];
      if (persons.length > 0) await returnPeople(pool, { portfolio, persons });
      const approaches = places.map(({ i, job }): Approach => {
        const { accountId = 0, priority = 0 } = chunks[i] ?? {};
        return { accountId, sender: job.sender, person: personOf(job.destination), isUrgent: priority === 0 };
      });
      const decided = jobs.map((own) => [...own]);
      for (const { n, verdict } of await takePeople(pool, limit, approaches)) {
        const place = places[n];
        const own = place && decided[place.i];
        if (own)
          own[place.k] = verdict === 'wait' ? { ...place.job, refusal: LATER } : { ...place.job, isNewPerson: true };
      }
      return decided;
    },
    settled({ isNewPerson, destination }, outcome) {
      if (isNewPerson && outcome.kind === 'refused') returned.push(personOf(destination));
    },
  };
}

/** Templates reach people who have not written; all else reaches only those who have. */
const isApproach = (job: Job | undefined): job is Job =>
  job?.content?.channel === 'WHATSAPP' && job.content.message.type === 'template' && !job.refusal;

/** People stop counting all the time, and Meta may raise the limit. */
const LATER: Outcome = {
  kind: 'retry',
  afterMs: 15 * MINUTE_MS,
  counts: false,
  code: 'MESSAGING_LIMIT',
  text: "the portfolio's limit of people for 24 hours is reached",
};
