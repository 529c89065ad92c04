import { OPEN_STATES, STATUS } from '../../messaging/states.ts';
import { constant, type Db, exec, many, maybeOne, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** The NOTIFY channel for inbound messages to simulate; the payload is a `SandboxInbound` in JSON. */
export const SANDBOX_CHANNEL = 'heliograph_sandbox';

/** Notifies the program that runs the sandbox. PostgreSQL limits the payload to 8,000 bytes. */
export async function notifySandbox(db: Db, payload: string): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${SANDBOX_CHANNEL}, ${payload})`);
}

type Key = { readonly accountId: number; readonly id: string };

/** Waits in chunk `q`, or is being submitted. */
const IS_QUEUED = sql`i.id <> ALL (coalesce(q.withdrawn, '{}'))`;

/** By connection `c.id`: messages that the sandbox has, or may have, and on which it owes a receipt. */
const OWED = sql`message_state s
  JOIN message m ON m.account_id = s.account_id AND m.id = s.id
  WHERE s.connection_id = c.id AND s.status IN (${OPEN_STATES}) AND s.submitted_at IS NOT NULL
    AND (m.want_receipt OR s.status = ${constant(STATUS.UNKNOWN)})`;

const OPEN = columns({
  connection: as<string>('c.name'),
  retired: as<boolean>("c.sandbox_state IS NOT DISTINCT FROM 'retired'"),
  /** Messages that wait for it, or are being submitted to it. */
  queued: as<number>('q.count'),
  /** Messages that it took, or may have taken, and that have no final state. */
  unconfirmed: as<number>('o.count'),
});
/** The open messages of one connection of the sandbox. */
export type OpenMessages = RowOf<typeof OPEN>;

/** Counts the open messages of the sandbox's connections, retired or not; none without any. */
export async function listOpenMessages(db: Db): Promise<OpenMessages[]> {
  return many(
    db,
    sql`SELECT ${OPEN}
        FROM connection c
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM dispatch_chunk q CROSS JOIN unnest(q.ids) AS i (id)
                            WHERE q.connection_id = c.id AND ${IS_QUEUED}) AS q
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM ${OWED}) AS o
        WHERE c.sandbox AND q.count + o.count > 0 ORDER BY c.id`,
  );
}

/** Lists messages of one chunk that wait for the sandbox and of which no submit has begun; none when no chunk has any. */
export async function listWaiting(db: Db): Promise<Key[]> {
  const row = await maybeOne<{ accountId: number; ids: string }>(
    db,
    sql`SELECT q.account_id AS "accountId", array_to_string(w.ids, ',') AS ids
        FROM dispatch_chunk q JOIN connection c ON c.id = q.connection_id AND c.sandbox
        CROSS JOIN LATERAL (SELECT array_agg(i.id) AS ids FROM unnest(q.ids[q.intent + 1:]) AS i (id)
                            WHERE ${IS_QUEUED}) AS w
        WHERE w.ids IS NOT NULL ORDER BY q.id LIMIT 1`,
  );
  return row === undefined ? [] : row.ids.split(',').map((id) => ({ accountId: row.accountId, id }));
}

const KEY = columns({ accountId: as<number>('s.account_id'), id: as<string>('s.id') });

/** Lists `limit` messages that the sandbox took, or may have taken, and that have no final state. */
export async function listUnconfirmed(db: Db, { limit }: { limit: number }): Promise<Key[]> {
  return many(
    db,
    sql`SELECT u.* FROM connection c CROSS JOIN LATERAL (SELECT ${KEY} FROM ${OWED}) AS u
        WHERE c.sandbox ORDER BY u."accountId", u.id LIMIT ${limit}`,
  );
}

const NAME = columns({ name: as<string>('name') });

/**
 * Retires the connections of the sandbox, which pauses them: workers stop their links, after the responses to what they
 * have written. Returns those that were not retired.
 */
export async function moveToRetired(db: Db): Promise<RowOf<typeof NAME>[]> {
  return many(
    db,
    sql`UPDATE connection SET status = 'paused', sandbox_state = 'retired', version = version + 1
        WHERE sandbox AND sandbox_state IS DISTINCT FROM 'retired' RETURNING ${NAME}`,
  );
}

/**
 * Keeps the sandbox next to real carriers; returns its connections. Those that were retired are `restored`, and stay
 * paused until it starts: nothing listens on their old ports.
 */
export async function moveToKept(db: Db): Promise<RowOf<typeof NAME>[]> {
  return many(
    db,
    sql`UPDATE connection SET sandbox_state = CASE WHEN sandbox_state IN ('retired', 'restored') THEN 'restored' ELSE 'kept' END,
                              version = version + 1
        WHERE sandbox RETURNING ${NAME}`,
  );
}

/** Returns true if the sandbox is to run next to real carriers (`moveToKept`). */
export async function isKept(db: Db): Promise<boolean> {
  return (
    (await maybeOne(db, sql`SELECT FROM connection WHERE sandbox_state IN ('restored', 'kept') LIMIT 1`)) !== undefined
  );
}

/** Returns true if there is a sandbox that is neither retired nor to be kept. */
export async function isInUse(db: Db): Promise<boolean> {
  return (
    (await maybeOne(db, sql`SELECT FROM connection WHERE sandbox AND sandbox_state IS NULL LIMIT 1`)) !== undefined
  );
}

/** Makes the connections of a retired or restored sandbox usable again, because it starts. */
export async function moveFromRetired(db: Db): Promise<number> {
  return exec(
    db,
    sql`UPDATE connection SET status = 'active', version = version + 1,
                              sandbox_state = CASE WHEN sandbox_state = 'restored' THEN 'kept' END
        WHERE sandbox_state IN ('retired', 'restored')`,
  );
}
