import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { every, type LastRun, type Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { as, columns, type Db, exec, many, type RowOf, raw, sql } from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { SECOND_MS } from '../core/time.ts';
import { findCertificateEnd, findFreeBytes } from './doctor.ts';

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

/** Time and error of the last run of a worker's task. */
type TaskReport = { readonly name: string; readonly ranAt: string | null; readonly error: string | null };

type NewWorker = {
  readonly owner: number;
  readonly host: string;
  readonly pid: number;
  readonly tasks: readonly TaskReport[];
  /** Free space for the data on its machine, in bytes; null: not known. */
  readonly freeBytes: number | null;
  /** Expiry of the TLS certificate of its machine; null: it has none. */
  readonly certificateEndsAt: Date | null;
};

/** Inserts a worker, or renews the report of one that is already known. */
export async function insertWorker(db: Db, { owner, host, pid, tasks, ...machine }: NewWorker): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO worker_process (owner, host, pid, tasks, free_bytes, certificate_ends_at)
        VALUES (${owner}, ${host}, ${pid}, ${JSON.stringify(tasks)}::jsonb, ${machine.freeBytes},
                ${machine.certificateEndsAt})
        ON CONFLICT (owner) DO UPDATE SET tasks = excluded.tasks, free_bytes = excluded.free_bytes,
          certificate_ends_at = excluded.certificate_ends_at, seen_at = now()`,
  );
}

/** Deletes a worker that is stopping, and workers that died more than an hour ago. */
export async function deleteWorkers(db: Db, { owner }: { owner: number }): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM worker_process WHERE owner = ${owner}
        OR (seen_at < now() - interval '1 hour' AND NOT ${isOwnerAlive(raw('worker_process.owner'))})`,
  );
}

const WORKER = columns({
  owner: as<number>('owner'),
  host: as<string>('host'),
  pid: as<number>('pid'),
  startedAt: as<Date>('started_at'),
  seenAt: as<Date>('seen_at'),
  tasks: as<readonly TaskReport[]>('tasks'),
  freeBytes: as<number | null>('free_bytes'),
  certificateEndsAt: as<Date | null>('certificate_ends_at'),
  alive: as<boolean>(isOwnerAlive(raw('worker_process.owner'))),
});
export type WorkerRow = RowOf<typeof WORKER>;

/** Lists the live workers and those that died within the last hour, oldest first. */
export async function listWorkers(db: Db): Promise<WorkerRow[]> {
  return many(db, sql`SELECT ${WORKER} FROM worker_process ORDER BY started_at, owner`);
}
