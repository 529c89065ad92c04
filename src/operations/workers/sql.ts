import { type Db, exec, many, raw, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';

/** When a task of a worker last ran, and the error of that run. */
export type TaskReport = { readonly name: string; readonly ranAt: string | null; readonly error: string | null };

export type NewWorker = {
  readonly owner: number;
  readonly host: string;
  readonly pid: number;
  readonly tasks: readonly TaskReport[];
};

/** Inserts a worker, or renews the report of one that is already known. */
export async function insertWorker(db: Db, { owner, host, pid, tasks }: NewWorker): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO worker_process (owner, host, pid, tasks)
        VALUES (${owner}, ${host}, ${pid}, ${JSON.stringify(tasks)}::jsonb)
        ON CONFLICT (owner) DO UPDATE SET tasks = excluded.tasks, seen_at = now()`,
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
  alive: as<boolean>(isOwnerAlive(raw('worker_process.owner'))),
});
export type WorkerRow = RowOf<typeof WORKER>;

/** Lists the live workers and those that died within the last hour, oldest first. */
export async function listWorkers(db: Db): Promise<WorkerRow[]> {
  return many(db, sql`SELECT ${WORKER} FROM worker_process ORDER BY started_at, owner`);
}
