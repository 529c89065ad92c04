import type { Config } from '../../platform/config.ts';
import { createSignal } from '../../platform/lib/background/signal.ts';
import { always, every, type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';
import { expireExports } from './lifecycle.ts';
import type { MakeDeps } from './make.ts';
import { deleteOldExports, EXPORTS_CHANNEL } from './sql.ts';
import { createExporter } from './work.ts';

type ExportTaskDeps = Omit<MakeDeps, 'dataDir' | 'standbysUrl'> & {
  readonly config: Pick<Config, 'dataDir' | 'retentionDays' | 'databaseUrlRead'>;
};

/** The tasks that make the files of exports, delete expired files, and delete old exports. */
export function exportTasks({ config, ...deps }: ExportTaskDeps): Task[] {
  const { pool } = deps;
  const ended = createSignal();
  const exporter = createExporter({
    ...deps,
    dataDir: config.dataDir,
    standbysUrl: config.databaseUrlRead,
    onEnd: ended.raise,
  });
  return [
    {
      name: 'exports',
      work: exporter.work,
      wakeOn: { [EXPORTS_CHANNEL]: always },
      signal: ended,
      close: exporter.stop,
    },
    { name: 'expired exports', work: untilIdle(() => expireExports(pool), MINUTE_MS) },
    { name: 'old exports', work: every(HOUR_MS, () => deleteOldExports(pool, { days: config.retentionDays })) },
  ];
}
