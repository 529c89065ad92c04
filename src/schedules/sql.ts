import { type Db, maybeOne, many, sql } from '../db/query.ts';
import { MISSED_AFTER } from '../dispatch/sql.ts';

/** Scheduled messages that wait under one time; `id` is that of their place in the queue. */
export type Missed = { id: number; accountId: number; account: string; messages: number; dueAt: Date };

const MISSED = sql`c.scheduled AND c.owner IS NULL AND c.available_at <= now() - ${MISSED_AFTER}`;

/** Schedules whose time passed long ago without a worker that could have kept it: a person decides about them. */
export async function listMissed(db: Db): Promise<Missed[]> {
  return many(
    db,
    sql`SELECT c.id, c.account_id AS "accountId", a.name AS account, c.size AS messages, c.available_at AS "dueAt"
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id WHERE ${MISSED} ORDER BY c.available_at, c.id`,
  );
}

/** Sends a missed schedule now: it is no schedule any more. */
export async function moveMissedToQueue(db: Db, { id }: { id: number }): Promise<{ connectionId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE dispatch_chunk c SET scheduled = false, available_at = now() WHERE c.id = ${id} AND ${MISSED}
        RETURNING c.connection_id AS "connectionId"`,
  );
}

/** The messages of a missed schedule, locked with it. */
export async function claimMissed(
  db: Db,
  { id }: { id: number },
): Promise<{ accountId: number; ids: string[] } | undefined> {
  return maybeOne(
    db,
    sql`SELECT c.account_id AS "accountId", c.ids::text[] AS ids FROM dispatch_chunk c
        WHERE c.id = ${id} AND ${MISSED} FOR UPDATE`,
  );
}
