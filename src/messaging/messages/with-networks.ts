import type { Costs } from '../../network/costs/cost-list.ts';
import type { Job } from '../../network/dispatch/held.ts';
import { listKnown } from '../../network/number-lookups/sql.ts';
import type { Db } from '../../platform/db/query.ts';

/** The messages of each chunk. */
type Jobs = (Job | undefined)[][];
type Priced = { readonly connectionId: number; readonly costs: Pick<Costs, 'dependsOnNetwork'> };

/**
 * Adds the networks of their numbers to the messages of a connection whose cost depends on them, as far as known when
 * the messages are loaded. One statement for all of them, and none where no cost names a network.
 */
export async function withNetworks(db: Db, jobs: Jobs, { connectionId, costs }: Priced): Promise<Jobs> {
  const depends = (job: Job | undefined): job is Job =>
    job !== undefined && job.channel === 'SMS' && costs.dependsOnNetwork(connectionId, job.destination);
  const numbers = new Set(jobs.flatMap((own) => own.filter(depends).map(({ destination }) => destination)));
  if (numbers.size === 0) return jobs;
  const known = new Map(
    (await listKnown(db, { numbers: [...numbers] })).map(({ number, network }) => [number, network]),
  );
  return jobs.map((own) =>
    own.map((job) => {
      const network = depends(job) ? known.get(job.destination) : undefined;
      return job && network ? { ...job, network } : job;
    }),
  );
}
