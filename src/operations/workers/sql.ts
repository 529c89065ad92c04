import { type Db, exec, many, raw, sql } from '../../platform/db/query.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';

/** A task of a worker: when it last ran, and what went wrong then. */
export type TaskReport = { readonly name: string; readonly ranAt: string | null; readonly error: string | null };

export type NewWorker = {
  readonly owner: number;
  readonly host: string;
  readonly pid: number;
  readonly tasks: readonly TaskReport[];
};

/** A worker says that it is there. */
export async function insertWorker(db: Db, { owner, host, pid, tasks }: NewWorker): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO worker_process (owner, host, pid, tasks)
        VALUES (${owner}, ${host}, ${pid}, ${JSON.stringify(tasks)}::jsonb)
        ON CONFLICT (owner) DO UPDATE SET tasks = excluded.tasks, seen_at = now()`,
  );
}

/** Forgets a worker that ends, and those that died more than an hour ago. */
export async function deleteWorkers(db: Db, { owner }: { owner: number }): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM worker_process WHERE owner = ${owner}
        OR (seen_at < now() - interval '1 hour' AND NOT ${isOwnerAlive(raw('worker_process.owner'))})`,
  );
}

export type WorkerRow = Omit<NewWorker, 'tasks'> & {
  readonly startedAt: Date;
  readonly seenAt: Date;
  readonly alive: boolean;
  readonly tasks: readonly TaskReport[];
};

/** Those that live, and those that died within the last hour; the oldest first. */
export async function listWorkers(db: Db): Promise<WorkerRow[]> {
  return many(
    db,
    sql`SELECT owner, host, pid, started_at AS "startedAt", seen_at AS "seenAt", tasks,
               ${isOwnerAlive(raw('worker_process.owner'))} AS alive
        FROM worker_process ORDER BY started_at, owner`,
  );
}
