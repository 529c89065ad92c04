import { bigint, int, json, rowsOf, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { boundsOf } from '../../../platform/lib/ids.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Hop } from './hop.ts';

/** Told when a message that another one may follow has ended. */
export const FALLBACKS_CHANNEL = 'heliograph_fallbacks';

export type Key = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly Key[]) =>
  sql`${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u`;

export type NewFallback = Key & {
  /** From when on the message's time counts; null: from now on. */
  readonly from: Date | null;
  readonly hops: readonly Hop[];
};

/** Notes of messages what follows them. Sent before this returns, as a `burst` wants it. */
export async function insertFallbacks(db: Db, rows: readonly NewFallback[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_fallback (account_id, message_id, hops, due_at)
        SELECT u.account_id, u.id, u.hops, coalesce(u.starts_at, now()) + u.seconds * interval '1 second'
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          hops: json((r) => JSON.stringify(r.hops)),
          starts_at: timestamptz((r) => r.from),
          seconds: int((r) => r.hops[0]?.afterSeconds ?? 0),
        })} AS u`,
  );
}

/**
 * Lets those of these messages be looked at that another one may follow, and wakes whoever looks; when the transaction
 * commits. Sent before this returns, as a `burst` wants it.
 */
export async function updateFallbacksDueNow(db: Db, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  await exec(
    db,
    sql`WITH moved AS (
          UPDATE message_fallback f SET due_at = now() FROM ${keysOf(keys)}
          WHERE f.account_id = u.account_id AND f.message_id = u.id RETURNING f.message_id)
        SELECT pg_notify(${FALLBACKS_CHANNEL}, '') WHERE EXISTS (SELECT FROM moved)`,
  );
}

/** How long until the next one is to be looked at, in ms; null when none waits. */
export async function findNextFallbackMs(db: Db): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM message_fallback`,
  );
  return row?.ms ?? null;
}

/** Takes the `limit` that are due for longest; in `leaseMs` they are due again, whatever becomes of this process. */
export async function claimDueFallbacks(
  db: Db,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<(Key & { hops: Hop[] })[]> {
  return many(
    db,
    sql`UPDATE message_fallback f SET due_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
        FROM (SELECT account_id, message_id FROM message_fallback WHERE due_at <= now()
              ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS d
        WHERE f.account_id = d.account_id AND f.message_id = d.message_id
        RETURNING f.account_id AS "accountId", f.message_id AS id, f.hops`,
  );
}

/** How a message stands that another one may follow. */
export type FallbackMessage = Key & {
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  readonly simulation: boolean;
  readonly sender: string;
  readonly destination: string;
  readonly validUntil: Date | null;
  readonly keyId: number | null;
  readonly userId: number | null;
  /** Null before its first outcome. */
  readonly status: number | null;
  readonly errorCode: string | null;
  readonly connectionId: number | null;
  /** A carrier has it, or may have it. */
  readonly submitted: boolean;
  /** It was sent twice, since the first time was never answered. */
  readonly doubtful: boolean;
  /** Its time passed while no worker ran: a person decides about it. */
  readonly missed: boolean;
  /** Whether its account was suspended meanwhile. */
  readonly suspended: boolean;
};

/** The facts of these messages; those that are gone are left out. */
export async function listFallbackMessages(db: Db, keys: readonly Key[]): Promise<FallbackMessage[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id, m.client_id AS "clientId", m.channel, m.source, m.simulation, m.sender,
               m.destination, m.valid_until AS "validUntil", m.api_key_id AS "keyId", m.user_id AS "userId", s.status,
               s.error_code AS "errorCode", s.connection_id AS "connectionId", s.submitted_at IS NOT NULL AS submitted,
               coalesce(s.possible_duplicate, false) AS doubtful, a.status <> 'active' AS suspended,
               m.scheduled_at IS NOT NULL AND s.id IS NULL AND EXISTS (
                 SELECT FROM dispatch_chunk c
                 WHERE c.account_id = m.account_id AND c.scheduled AND m.id = ANY(c.ids)) AS missed
        FROM ${keysOf(keys)}
        JOIN account a ON a.id = u.account_id
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}
        LEFT JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/**
 * Those of these messages whose network was asked to take them back, and whether it said that it did not: until then, or
 * until their end, they are asked about again.
 */
export async function listRevokeRequests(db: Db, keys: readonly Key[]): Promise<{ id: string; answered: boolean }[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT e.message_id AS id, bool_or(e.details->>'outcome' IS NOT NULL) AS answered
        FROM ${keysOf(keys)}
        JOIN message_event e ON e.account_id = u.account_id AND e.message_id = u.id AND e.kind = 'revoke'
          AND e.message_id BETWEEN ${firstId} AND ${lastId}
        GROUP BY e.message_id`,
  );
}

/** Puts off what was claimed; null: until the message's end. One that has ended since stays due. */
export async function updateClaimedFallbacks(
  db: Db,
  keys: readonly Key[],
  { waitMs }: { waitMs: number | null },
): Promise<void> {
  if (keys.length === 0) return;
  await exec(
    db,
    sql`UPDATE message_fallback f SET due_at = now() + ${waitMs}::float8 * interval '1 millisecond' FROM ${keysOf(keys)}
        WHERE f.account_id = u.account_id AND f.message_id = u.id AND f.due_at > now()`,
  );
}

/** Forgets what follows these messages. Answers of how many it was still open. */
export async function deleteFallbacks(db: Db, keys: readonly Key[]): Promise<number> {
  if (keys.length === 0) return 0;
  return exec(
    db,
    sql`DELETE FROM message_fallback f USING ${keysOf(keys)} WHERE f.account_id = u.account_id AND f.message_id = u.id`,
  );
}

/** Forgets what follows messages with ids below `endId`. */
export async function deleteFallbacksBefore(db: Db, { endId }: { endId: string }): Promise<number> {
  return exec(db, sql`DELETE FROM message_fallback WHERE message_id < ${endId}`);
}

/** Lets a client id lead to the message that has followed the one to which it led. */
export async function updateNewestId(
  db: Db,
  { accountId, clientId, id, newestId }: Key & { clientId: string; newestId: string },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE client_message_id SET newest_id = ${newestId}
        WHERE account_id = ${accountId} AND client_id = ${clientId} AND coalesce(newest_id, message_id) = ${id}`,
  );
}
