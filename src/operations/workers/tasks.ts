import type { Pool } from 'pg';
import { every, type Task } from '../../platform/lib/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { reportWorker, type TaskState } from './report.ts';
import { deleteWorkers } from './sql.ts';

type WorkerReportDeps = {
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: number;
  /** The tasks of this worker and how their last runs went. */
  readonly states: () => readonly TaskState[];
};

/** Reports this worker and the state of its tasks. */
export const workerTasks = ({ pool, owner, states }: WorkerReportDeps): Task[] => [
  {
    name: 'worker report',
    work: every(10 * SECOND_MS, () => reportWorker(pool, { owner, states: states() })),
    close: async () => void (await deleteWorkers(pool, { owner })),
  },
];
