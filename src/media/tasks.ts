import type { Pool } from 'pg';
import type { Config } from '../platform/config.ts';
import { type Task, untilIdle } from '../platform/lib/background/task.ts';
import { HOUR_MS } from '../platform/lib/time.ts';
import { removeOldInbound } from './remove.ts';

/** Deletes the files of inbound messages after RETENTION_DAYS. */
export const mediaTasks = ({ pool, config }: { readonly pool: Pool; readonly config: Config }): Task[] => [
  { name: 'old media', work: untilIdle(() => removeOldInbound(pool, { days: config.retentionDays }), HOUR_MS) },
];
