import type { Pool } from 'pg';
import { newOwnerKey } from '../../src/core/db/worker-session.ts';
import { createJobRunner, type Runnable } from '../../src/core/jobs.ts';
import { silentLog } from '../../src/core/log.ts';

/** Runs jobs of these kinds as a live worker until none is due. Returns the number of tries. */
export async function runJobs(pool: Pool, ...kinds: readonly Runnable[]): Promise<number> {
  let tries = 0;
  const jobs = kinds.map((kind) => ({
    ...kind,
    run(job: Parameters<Runnable['run']>[0]) {
      tries++;
      return kind.run(job);
    },
  }));
  const session = await pool.connect();
  const owner = newOwnerKey();
  await session.query('SELECT pg_advisory_lock($1)', [owner]);
  try {
    const runner = createJobRunner({ pool, owner, jobs, paused: () => false, log: silentLog });
    for (;;) {
      const busy = runner.running() > 0;
      const waitMs = await runner.work();
      if (waitMs > 0 && !busy && runner.running() === 0) return tries;
      if (waitMs > 0) await runner.ended.wait(100);
    }
  } finally {
    session.release(true);
  }
}
