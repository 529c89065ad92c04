import type { Pool } from 'pg';
import type { Config } from '../../../platform/config.ts';
import type { Log } from '../../../platform/lib/log.ts';
import { always, every, type Task, untilIdle } from '../../../platform/lib/background/task.ts';
import { HOUR_MS, SECOND_MS } from '../../../platform/lib/time.ts';
import { deleteOldImports, IMPORTS_CHANNEL } from './sql.ts';
import { importNextChunk } from './import-next-chunk.ts';
import { KEPT_HOURS } from './uploads/schema.ts';
import { deleteOldUploads } from './uploads/sql.ts';

type ImportTaskDeps = {
  readonly pool: Pool;
  readonly config: Pick<Config, 'retentionDays'>;
  readonly log: Log;
};

/** Imports files of contacts. Woken by new imports; the wait is for those that failed or were left by a dead worker. */
export const importTasks = ({ pool, config, log }: ImportTaskDeps): Task[] => [
  {
    name: 'imports',
    work: untilIdle(() => importNextChunk(pool, log), 10 * SECOND_MS),
    wakeOn: { [IMPORTS_CHANNEL]: always },
  },
  { name: 'old imports', work: every(HOUR_MS, () => deleteOldImports(pool, { days: config.retentionDays })) },
  { name: 'old contact uploads', work: every(HOUR_MS, () => deleteOldUploads(pool, { hours: KEPT_HOURS })) },
];
