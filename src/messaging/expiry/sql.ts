import { isServedHere } from '../../identity/accounts/away.ts';
import { plainArray } from '../../platform/db/array.ts';
import { bigint, input, insertRows, text, timestamptz } from '../../platform/db/columns.ts';
import { constant, type Db, exec, many, one, onePlan, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { messagesByKey } from '../messages/sql.ts';
import { OPEN_STATES, STATUS } from '../states.ts';

/** A deadline of messages of one account, after which they are given up. */
export type NewDeadline = { readonly accountId: number; readonly dueAt: Date; readonly ids: readonly string[] };

/** Stores the deadlines of messages. */
export async function insertDeadlines(db: Db, deadlines: readonly NewDeadline[]): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows(
        'message_deadline',
        deadlines.map((deadline) => ({ ...deadline, ids: plainArray(deadline.ids) })),
        { accountId: bigint, dueAt: timestamptz, ids: input(text) },
        { ids: sql`u.ids::uuid[]` },
      ),
    ),
  );
}

/** Deletes the deadline of one message, whose time has changed. */
export async function deleteDeadline(
  db: Db,
  { accountId, id, dueAt }: { accountId: number; id: string; dueAt: Date },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE message_deadline SET ids = array_remove(ids, ${id}::uuid)
        WHERE account_id = ${accountId} AND due_at = ${dueAt} AND ${id}::uuid = ANY(ids)`,
  );
}

/** Takes the oldest `limit` deadlines whose time has come. They are deleted when the caller's transaction commits. */
export async function deleteDueDeadlines(db: Db, limit: number): Promise<{ accountId: number; ids: string[] }[]> {
  const rows = await many<{ accountId: number; ids: string }>(
    db,
    sql`DELETE FROM message_deadline WHERE id IN (
          SELECT id FROM message_deadline WHERE due_at <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING account_id AS "accountId", array_to_string(ids, ',') AS ids`,
  );
  return rows.map(({ accountId, ids }) => ({ accountId, ids: ids.split(',') }));
}

/** Returns how long it is until the next deadline, in ms; null when there is none. */
export async function findNextDeadlineMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM message_deadline`,
  );
  return ms;
}

/** Finds the instant up to which the messages of the default validity have been checked. */
export async function findExpiryProgress(db: Db): Promise<Date> {
  return (await one<{ doneTo: Date }>(db, sql`SELECT done_to AS "doneTo" FROM expiry_progress`)).doneTo;
}

/** Advances that instant, unless another worker has. */
export async function updateExpiryProgress(db: Db, { from, to }: { from: Date; to: Date }): Promise<void> {
  await exec(db, sql`UPDATE expiry_progress SET done_to = ${to} WHERE done_to <= ${from}`);
}

/** The key of a message. */
export type Key = { readonly accountId: number; readonly id: string };

const OPEN_MESSAGE = columns({ accountId: as<number>('s.account_id'), id: as<string>('s.id') });

/**
 * Lists the messages of the default validity with ids in [firstId, endId) that a carrier has, or may have, and that
 * have no final state; excludes accounts that are not served here.
 */
export const listOpenMessages = (db: Db, { firstId, endId }: { firstId: string; endId: string }): Promise<Key[]> =>
  many(
    db,
    sql`SELECT ${OPEN_MESSAGE} FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.id < ${endId}
        WHERE s.id >= ${firstId} AND s.id < ${endId} AND s.status IN (${OPEN_STATES})
          AND m.valid_until IS NULL AND m.scheduled_at IS NULL AND NOT m.simulation
          AND ${isServedHere(sql`s.account_id`)}
        ORDER BY s.id`,
  );

const QUEUED_MESSAGE = columns({ accountId: as<number>('old.account_id'), id: as<string>('m.id') });

/**
 * Lists the oldest messages of the default validity that were accepted before `endId` and wait in chunks which no
 * worker has claimed.
 */
export const listOldQueued = (db: Db, { endId }: { endId: string }, limit: number): Promise<Key[]> =>
  many(
    db,
    sql`WITH old AS MATERIALIZED (
          SELECT account_id, ids, withdrawn FROM dispatch_chunk
          WHERE owner IS NULL AND NOT scheduled AND available_at < now() - interval '1 day' AND ids[1] < ${endId}::uuid)
        SELECT ${QUEUED_MESSAGE} FROM old CROSS JOIN unnest(old.ids) AS i (id)
        JOIN message m ON m.account_id = old.account_id AND m.id = i.id
        WHERE m.id < ${endId} AND m.valid_until IS NULL AND m.scheduled_at IS NULL
          AND (old.withdrawn IS NULL OR m.id <> ALL (old.withdrawn))
        ORDER BY m.id LIMIT ${limit}`,
  );

const DELIVERY_STATE = columns({
  accountId: as<number>('m.account_id'),
  id: as<string>('m.id'),
  /** Null before the first outcome. */
  status: as<number | null>('s.status'),
  /** Null while the message waits, also for another attempt. */
  submittedAt: as<Date | null>('s.submitted_at'),
  errorCode: as<string | null>('s.error_code'),
  wantReceipt: as<boolean>('m.want_receipt'),
});
/** Progress of the delivery of a message. */
export type DeliveryState = RowOf<typeof DELIVERY_STATE>;

/** Lists the delivery progress of these messages. Messages that no longer exist are omitted. */
export async function listDeliveryStates(db: Db, keys: readonly Key[]): Promise<DeliveryState[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT ${DELIVERY_STATE}
        FROM ${messagesByKey(keys)}
        LEFT JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/**
 * Gives messages that were withdrawn from the queue the state ACCEPTED, which can be moved to a final one. Messages
 * that were tried before have a state already and keep it.
 */
export async function insertOpenStates(db: Db, keys: readonly Key[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, credit_held, channel, campaign_id)
        SELECT u.account_id, u.id, ${constant(STATUS.ACCEPTED)}, 0, now(), true,
               CASE m.channel WHEN 'RCS' THEN ${bitOf('RCS')}::int WHEN 'WHATSAPP' THEN ${bitOf('WHATSAPP')}::int
                              ELSE ${bitOf('SMS')}::int END, m.campaign_id
        FROM ${messagesByKey(keys)}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO NOTHING`,
  );
}
