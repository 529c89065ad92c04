import { type Db, exec, maybeOne, many, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { MISSED_AFTER } from '../../network/dispatch/sql.ts';
import { WAKE_CHANNEL } from '../../network/dispatch/wake.ts';

/** The condition of a missed schedule, for a chunk `c`. */
const MISSED = sql`c.scheduled AND c.owner IS NULL AND c.available_at <= now() - ${MISSED_AFTER}`;

/**
 * Marks schedules whose time has come while a worker runs: whatever delays them from now on (a carrier that is down, a
 * long queue at a slow one), they are not missed. Returns how many there were.
 */
export async function updateObservedSchedules(db: Db): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk SET scheduled = false
        WHERE scheduled AND available_at <= now() AND available_at > now() - ${MISSED_AFTER}`,
  );
}

const MISSED_SCHEDULE = columns({
  /** The id of the chunk in the queue. */
  id: as<number>('c.id'),
  accountId: as<number>('c.account_id'),
  account: as<string>('a.name'),
  dueAt: as<Date>('c.available_at'),
  /** Number of its messages that were not cancelled. */
  messages: as<number>(
    "(SELECT count(*) FROM unnest(c.ids) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}')))",
  ),
});
/** Messages of one account that were scheduled for the same time, which was missed. */
export type Missed = RowOf<typeof MISSED_SCHEDULE>;

/** Lists schedules whose time passed long ago while no worker ran: the operator decides about them. */
export const listMissed = (db: Db): Promise<Missed[]> =>
  many(
    db,
    sql`SELECT ${MISSED_SCHEDULE}
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id WHERE ${MISSED} ORDER BY c.available_at, c.id`,
  );

/** Moves a missed schedule to the queue, where it is due now and no longer a schedule. */
export async function moveMissedToQueue(db: Db, { id }: { id: number }): Promise<void> {
  await exec(db, sql`UPDATE dispatch_chunk SET scheduled = false, available_at = now() WHERE id = ${id}`);
}

/** Wakes the workers of a connection, because its queue has new work. */
export async function notifyWake(db: Db, { connectionId }: { connectionId: number }): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${WAKE_CHANNEL}, ${String(connectionId)})`);
}

const CLAIMED_SCHEDULE = columns({
  accountId: as<number>('c.account_id'),
  connectionId: as<number>('c.connection_id'),
  ids: as<string[]>(
    "ARRAY(SELECT i.id::text FROM unnest(c.ids) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}')))",
  ),
});

/**
 * Locks a missed schedule and returns those of its messages that were not cancelled; undefined when it was not missed.
 */
export const claimMissed = (db: Db, { id }: { id: number }): Promise<RowOf<typeof CLAIMED_SCHEDULE> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CLAIMED_SCHEDULE}
        FROM dispatch_chunk c
        WHERE c.id = ${id} AND ${MISSED} FOR UPDATE`,
  );
