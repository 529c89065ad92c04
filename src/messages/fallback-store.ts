import type { Content } from '../channels/carrier.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, input, insertRows, int, json, rowsOf, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { INHERITED, type Inherited } from './new-messages.ts';

/** NOTIFY channel that is raised when a message with a fallback has reached a final state. */
export const FALLBACKS_CHANNEL = 'heliograph_fallbacks';

/** Conditions under which the message on a channel is followed by one on the next channel. */
export type FollowRule = {
  /** Time that the message has, from when its carrier has taken it. */
  readonly afterSeconds: number;
  /** Longest wait of the message until a carrier takes it; null: as long as it is valid. */
  readonly maxWaitSeconds: number | null;
  /** Names of the only failures of the message that are followed; null: all of them. */
  readonly onStatus: readonly string[] | null;
};

/**
 * A message on another channel that is sent when the one before it fails or takes too long, with the rule for the one
 * before it. It is stored after its checks.
 */
export type NextChannel = FollowRule & {
  readonly channel: Channel;
  readonly sender: string;
  readonly body: string;
  readonly content: Content | null;
  /** True if it waits for the hours of the calendar, as the first message did. */
  readonly respectCalendar?: true;
  /** Set if its text and content have bullets in place of the code of this verification. */
  readonly verificationId?: string;
};

export type Key = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly Key[]) =>
  sql`${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u`;

/** Messages that may follow a message on other channels. */
export type NewFallback = Key & {
  /** Earliest time at which the message may be sent; null: now. */
  readonly from: Date | null;
  readonly nextChannels: readonly NextChannel[];
};

/** Stores the fallbacks of messages. The statement is sent before this returns, as a `burst` needs it. */
export async function insertFallbacks(db: Db, rows: readonly NewFallback[]): Promise<void> {
  await exec(
    db,
    insertRows(
      'message_fallback',
      rows.map(({ accountId, id, from, nextChannels }) => ({
        accountId,
        messageId: id,
        nextChannels,
        startsAt: from,
        seconds: nextChannels[0]?.afterSeconds ?? 0,
      })),
      {
        accountId: bigint,
        messageId: uuid,
        nextChannels: json((r) => JSON.stringify(r.nextChannels)),
        startsAt: input(timestamptz),
        seconds: input(int),
      },
      { due_at: sql`coalesce(u.starts_at, now()) + u.seconds * interval '1 second'` },
    ),
  );
}

/**
 * Makes the fallbacks of these messages due and wakes the workers, both when the transaction commits. Messages without
 * a fallback are ignored. The statement is sent before this returns, as a `burst` needs it.
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

/** Returns how long it is until the next fallback is due, in ms; null when there is none. */
export async function findNextFallbackMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM message_fallback`,
  );
  return ms;
}

const DUE_FALLBACK = columns({
  accountId: as<number>('f.account_id'),
  id: as<string>('f.message_id'),
  nextChannels: as<NextChannel[]>('f.next_channels'),
});
/** A message whose fallback is due, with the channels that may follow it, next first. */
export type DueFallback = RowOf<typeof DUE_FALLBACK>;

/**
 * Claims the `limit` fallbacks that have been due for longest. They are due again after `leaseMs`, even if this process
 * dies.
 */
export const claimDueFallbacks = (
  db: Db,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<DueFallback[]> =>
  many(
    db,
    sql`UPDATE message_fallback f SET due_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
        FROM (SELECT account_id, message_id FROM message_fallback WHERE due_at <= now()
              ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS d
        WHERE f.account_id = d.account_id AND f.message_id = d.message_id
        RETURNING ${DUE_FALLBACK}`,
  );

const FALLBACK_MESSAGE = columns({
  accountId: as<number>('m.account_id'),
  id: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  sender: as<string>('m.sender'),
  keyId: as<number | null>('m.api_key_id'),
  userId: as<number | null>('m.user_id'),
  /** Null before the first outcome. */
  status: as<number | null>('s.status'),
  errorCode: as<string | null>('s.error_code'),
  connectionId: as<number | null>('s.connection_id'),
  /** Time at which a carrier took the message, or may have taken it; null while it waits, also for another attempt. */
  submittedAt: as<Date | null>('s.submitted_at'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  /** True if it was sent twice because the first submit never got a response. */
  doubtful: as<boolean>('coalesce(s.possible_duplicate, false)'),
  /** True if the account was suspended meanwhile. */
  suspended: as<boolean>("a.status <> 'active'"),
  /** True if its time passed while no worker ran, so that a person decides about it. */
  missed: as<boolean>(`m.scheduled_at IS NOT NULL AND s.id IS NULL AND EXISTS (
                 SELECT FROM dispatch_chunk c
                 WHERE c.account_id = m.account_id AND c.scheduled AND m.id = ANY(c.ids))`),
});
/** A message with a fallback, and its current state. */
export type FallbackMessage = RowOf<typeof FALLBACK_MESSAGE> & Inherited;

/** Lists these messages with their current states. Messages that no longer exist are omitted. */
export async function listFallbackMessages(db: Db, keys: readonly Key[]): Promise<FallbackMessage[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT ${FALLBACK_MESSAGE}, ${INHERITED}
        FROM ${keysOf(keys)}
        JOIN account a ON a.id = u.account_id
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}
        LEFT JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/**
 * Postpones claimed fallbacks by `waitMs`; null: until the messages have a final state. A message that has reached one
 * in the meantime stays due.
 */
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

/** Moves the fallback of a message whose schedule has changed by this time, if it has one. */
export async function updateFallbackBy(db: Db, { accountId, id, byMs }: Key & { byMs: number }): Promise<void> {
  await exec(
    db,
    sql`UPDATE message_fallback SET due_at = due_at + ${byMs}::float8 * interval '1 millisecond'
        WHERE account_id = ${accountId} AND message_id = ${id}`,
  );
}

/** Deletes the fallbacks of these messages. Returns how many there were. */
export async function deleteFallbacks(db: Db, keys: readonly Key[]): Promise<number> {
  if (keys.length === 0) return 0;
  return exec(
    db,
    sql`DELETE FROM message_fallback f USING ${keysOf(keys)} WHERE f.account_id = u.account_id AND f.message_id = u.id`,
  );
}

/** Deletes the fallbacks of messages with ids below `endId`. Returns how many there were. */
export async function deleteFallbacksBefore(db: Db, { endId }: { endId: string }): Promise<number> {
  return exec(db, sql`DELETE FROM message_fallback WHERE message_id < ${endId}`);
}

/** Makes a client id refer to the message that followed the previous one. */
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
