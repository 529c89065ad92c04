import { type Db, exec, maybeOne, many, sql } from '../../platform/db/query.ts';
import { MISSED_AFTER } from '../../network/dispatch/sql.ts';
import { WAKE_CHANNEL } from '../../network/dispatch/wake.ts';

/** Scheduled messages that wait under one time; `id` is that of their place in the queue. */
export type Missed = { id: number; accountId: number; account: string; messages: number; dueAt: Date };

const MISSED = sql`c.scheduled AND c.owner IS NULL AND c.available_at <= now() - ${MISSED_AFTER}`;

/**
 * Notes of schedules whose time has come that a worker saw it come: whatever delays them from here on (a carrier that is
 * away, a long queue before them at a slow one), they were not missed. Answers how many there were.
 */
export async function updateObservedSchedules(db: Db): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk SET scheduled = false
        WHERE scheduled AND available_at <= now() AND available_at > now() - ${MISSED_AFTER}`,
  );
}

/** Schedules whose time passed long ago without a worker that could have kept it: a person decides about them. */
export async function listMissed(db: Db): Promise<Missed[]> {
  return many(
    db,
    sql`SELECT c.id, c.account_id AS "accountId", a.name AS account, c.available_at AS "dueAt",
               (SELECT count(*) FROM unnest(c.ids) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}'))) AS messages
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id WHERE ${MISSED} ORDER BY c.available_at, c.id`,
  );
}

/** Sends a missed schedule now: it is no schedule any more. */
export async function moveMissedToQueue(db: Db, { id }: { id: number }): Promise<void> {
  await exec(db, sql`UPDATE dispatch_chunk SET scheduled = false, available_at = now() WHERE id = ${id}`);
}

/** Tells the workers of a connection that something waits for it. */
export async function notifyWake(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${WAKE_CHANNEL}, ${String(connectionId)})`);
}

/** The messages of a missed schedule that were not cancelled, locked with it. */
export async function claimMissed(
  db: Db,
  { id }: { id: number },
): Promise<{ accountId: number; connectionId: number; ids: string[] } | undefined> {
  return maybeOne(
    db,
    sql`SELECT c.account_id AS "accountId", c.connection_id AS "connectionId",
               ARRAY(SELECT i.id::text FROM unnest(c.ids) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}'))) AS ids
        FROM dispatch_chunk c
        WHERE c.id = ${id} AND ${MISSED} FOR UPDATE`,
  );
}
