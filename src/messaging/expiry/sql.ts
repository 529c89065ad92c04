import { plainArray } from '../../platform/db/array.ts';
import { bigint, rowsOf, text, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, many, one, onePlan, sql } from '../../platform/db/query.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { messagesByKey } from '../messages/sql.ts';

export type NewDeadline = { readonly accountId: number; readonly dueAt: Date; readonly ids: readonly string[] };

/** Notes when messages are to be given up. */
export async function insertDeadlines(db: Db, deadlines: readonly NewDeadline[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO message_deadline (account_id, due_at, ids)
        SELECT u.account_id, u.due_at, u.ids::uuid[] FROM ${rowsOf(deadlines, {
          account_id: bigint((d) => d.accountId),
          due_at: timestamptz((d) => d.dueAt),
          ids: text((d) => plainArray(d.ids)),
        })} AS u`),
  );
}

/** Takes deadlines whose time has come, the oldest `limit` of them. Gone only when the caller's transaction commits. */
export async function deleteDueDeadlines(db: Db, limit: number): Promise<{ accountId: number; ids: string[] }[]> {
  const rows = await many<{ accountId: number; ids: string }>(
    db,
    sql`DELETE FROM message_deadline WHERE id IN (
          SELECT id FROM message_deadline WHERE due_at <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING account_id AS "accountId", array_to_string(ids, ',') AS ids`,
  );
  return rows.map(({ accountId, ids }) => ({ accountId, ids: ids.split(',') }));
}

/** How long until the next deadline, in ms; null when there is none. */
export async function findNextDeadlineMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM message_deadline`,
  );
  return ms;
}

/** The instant up to whose messages those of the usual validity were looked through. */
export async function findExpiryProgress(db: Db): Promise<Date> {
  return (await one<{ doneTo: Date }>(db, sql`SELECT done_to AS "doneTo" FROM expiry_progress`)).doneTo;
}

/** Moves that mark on, unless another worker has. */
export async function updateExpiryProgress(db: Db, { from, to }: { from: Date; to: Date }): Promise<void> {
  await exec(db, sql`UPDATE expiry_progress SET done_to = ${to} WHERE done_to <= ${from}`);
}

export type Key = { readonly accountId: number; readonly id: string };

/** Messages of the usual validity with ids in [firstId, endId) that a carrier has or may have, and that have no end. */
export async function listOpenMessages(db: Db, { firstId, endId }: { firstId: string; endId: string }): Promise<Key[]> {
  return many(
    db,
    sql`SELECT s.account_id AS "accountId", s.id FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.id < ${endId}
        WHERE s.id >= ${firstId} AND s.id < ${endId} AND s.status IN (0, 1)
          AND m.valid_until IS NULL AND m.scheduled_at IS NULL AND NOT m.simulation
        ORDER BY s.id`,
  );
}

/** The oldest messages of the usual validity that wait in chunks which nobody has claimed, accepted before `endId`. */
export async function listOldQueued(db: Db, { endId }: { endId: string }, limit: number): Promise<Key[]> {
  return many(
    db,
    sql`WITH old AS MATERIALIZED (
          SELECT account_id, ids, withdrawn FROM dispatch_chunk
          WHERE owner IS NULL AND NOT scheduled AND available_at < now() - interval '1 day' AND ids[1] < ${endId}::uuid)
        SELECT old.account_id AS "accountId", m.id FROM old CROSS JOIN unnest(old.ids) AS i (id)
        JOIN message m ON m.account_id = old.account_id AND m.id = i.id
        WHERE m.id < ${endId} AND m.valid_until IS NULL AND m.scheduled_at IS NULL
          AND (old.withdrawn IS NULL OR m.id <> ALL (old.withdrawn))
        ORDER BY m.id LIMIT ${limit}`,
  );
}

export type DeliveryState = Key & {
  /** Null before the first outcome. */
  readonly status: number | null;
  /** Null also while it waits for another attempt. */
  readonly submittedAt: Date | null;
  readonly errorCode: string | null;
  readonly wantReceipt: boolean;
};

/** How these messages stand; those that are gone are left out. */
export async function listDeliveryStates(db: Db, keys: readonly Key[]): Promise<DeliveryState[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id, s.status, s.submitted_at AS "submittedAt",
               s.error_code AS "errorCode", m.want_receipt AS "wantReceipt"
        FROM ${messagesByKey(keys)}
        LEFT JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/**
 * Gives messages that were taken back from the queue a state that can be moved to their end; those that were tried
 * already have one.
 */
export async function insertOpenStates(db: Db, keys: readonly Key[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, credit_held, channel, campaign_id)
        SELECT u.account_id, u.id, 1, 0, now(), true,
               CASE m.channel WHEN 'RCS' THEN ${bitOf('RCS')}::int WHEN 'WHATSAPP' THEN ${bitOf('WHATSAPP')}::int
                              ELSE ${bitOf('SMS')}::int END, m.campaign_id
        FROM ${messagesByKey(keys)}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO NOTHING`,
  );
}
