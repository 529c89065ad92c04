import { hostname } from 'node:os';
import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import type { LastRun } from '../../platform/lib/background/loop.ts';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { findCertificateEnd, findFreeBytes } from '../diagnosis/machine.ts';
import { deleteWorkers, insertWorker } from './sql.ts';

/** A task of a worker and the result of its last run. */
type TaskState = { readonly name: string; readonly last: LastRun };

type WorkerReportDeps = {
  readonly config: Pick<Config, 'dataDir' | 'tls'>;
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: number;
  /** The tasks of this worker and the results of their last runs. */
  readonly states: () => readonly TaskState[];
};

/** The task that reports this worker, its machine and the state of its tasks. */
export const workerTasks = ({ config, pool, owner, states }: WorkerReportDeps): Task[] => [
  {
    name: 'worker report',
    work: every(10 * SECOND_MS, async () =>
      insertWorker(pool, {
        owner,
        host: hostname(),
        pid: process.pid,
        freeBytes: await findFreeBytes(config.dataDir),
        certificateEndsAt: await findCertificateEnd(config),
        tasks: states().map(({ name, last: { ranAt, error } }) => ({
          name,
          ranAt: ranAt?.toISOString() ?? null,
          error,
        })),
      }),
    ),
    close: async () => void (await deleteWorkers(pool, { owner })),
  },
];
