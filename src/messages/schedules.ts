import type { Pool, PoolClient } from 'pg';
import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { every, type Task } from '../core/background.ts';
import { as, columns, type Db, exec, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { MINUTE_MS } from '../core/time.ts';
import { WAKE_CHANNEL } from '../dispatch/pump.ts';
import { MISSED_AFTER } from '../dispatch/store.ts';
import { cancelMessages } from './cancellation.ts';
import { insertEvents } from './events.ts';

type Decision = {
  readonly id: number;
  /** The name of the operator who decides. */
  readonly by: string;
};

async function claim(tx: PoolClient, id: number) {
  const missed = Number.isSafeInteger(id) ? await claimMissed(tx, { id }) : undefined;
  if (!missed) throw new AppError('not_found', { message: `There is no missed schedule ${id}` });
  return missed;
}

type Decided = Decision & { readonly action: string; readonly messages: number };

const record = (tx: PoolClient, accountId: number, { action, id, by, messages }: Decided): Promise<void> =>
  recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `schedule:${id}`, detail: { messages } });

/**
 * Sends a missed schedule now. Returns how many messages it has. Errors: 404 when the schedule was not missed, or the
 * decision about it has already been made.
 */
export function releaseMissed(pool: Pool, { id, by }: Decision): Promise<number> {
  return transaction(pool, async (tx) => {
    const { accountId, connectionId, ids } = await claim(tx, id);
    await moveMissedToQueue(tx, { id });
    await notifyWake(tx, { connectionId });
    await insertEvents(
      tx,
      ids.map((messageId) => ({ accountId, messageId, connectionId, kind: 'released', text: `by the operator ${by}` })),
    );
    await record(tx, accountId, { action: 'schedule.release', id, by, messages: ids.length });
    return ids.length;
  });
}

/**
 * Cancels a missed schedule: its messages end DELETED and their credit is returned. Returns how many there were.
 * Errors: 404 when the schedule was not missed, or the decision about it has already been made.
 */
export function cancelMissed(pool: Pool, { id, by, now }: Decision & { readonly now: Date }): Promise<number> {
  return transaction(pool, async (tx) => {
    const { accountId, ids } = await claim(tx, id);
    const keys = ids.map((messageId) => ({ accountId, id: messageId }));
    const messages = (await cancelMessages(tx, keys, { by: `the operator ${by}`, now })).size;
    await record(tx, accountId, { action: 'schedule.cancel', id, by, messages });
    return messages;
  });
}

/** Records which scheduled messages were seen on time, so that missed ones are found after an outage. */
export const scheduleTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'schedules', pausable: true, work: every(MINUTE_MS, () => updateObservedSchedules(pool)) },
];

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
type Missed = RowOf<typeof MISSED_SCHEDULE>;

/** Lists schedules whose time passed long ago while no worker ran: the operator decides about them. */
export const listMissed = (db: Db): Promise<Missed[]> =>
  many(
    db,
    sql`SELECT ${MISSED_SCHEDULE}
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id WHERE ${MISSED} ORDER BY c.available_at, c.id`,
  );

/** Moves a missed schedule to the queue, where it is due now and no longer a schedule. */
async function moveMissedToQueue(db: Db, { id }: { id: number }): Promise<void> {
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
const claimMissed = (db: Db, { id }: { id: number }): Promise<RowOf<typeof CLAIMED_SCHEDULE> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CLAIMED_SCHEDULE}
        FROM dispatch_chunk c
        WHERE c.id = ${id} AND ${MISSED} FOR UPDATE`,
  );
