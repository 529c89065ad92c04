import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Task } from '../../platform/lib/background/task.ts';
import { deleteOldData } from './delete-old-data.ts';

type RetentionDeps = {
  readonly pool: Pool;
  readonly config: Pick<Config, 'retentionDays'>;
  readonly now: () => Date;
  readonly log: Log;
};

/** The task that deletes data older than RETENTION_DAYS. */
export const retentionTasks = ({ config, ...deps }: RetentionDeps): Task[] => [
  { name: 'retention', pausable: true, work: () => deleteOldData(deps, { days: config.retentionDays }) },
];
