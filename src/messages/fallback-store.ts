import type { Content } from '../channels/carrier.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, input, insertRows, int, json, rowsOf, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { nameOfStatus, STATUS } from '../core/message-state.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { INHERITED, type Inherited } from './new-messages.ts';

/**
 * A message on another channel that is sent when the one before it fails or takes too long. It is stored after its
 * checks.
 */
export type Hop = {
  readonly channel: Channel;
  readonly sender: string;
  readonly body: string;
  readonly content: Content | null;
  /** Time that the message before it has, from when its carrier has taken it. */
  readonly afterSeconds: number;
  /** Longest wait of the message before it until a carrier takes it; null or omitted: as long as it is valid. */
  readonly maxWaitSeconds?: number | null;
  /** Names of the failures of the message before it that trigger this one; null: all of them. */
  readonly onStatus: readonly string[] | null;
};

/** Default seconds until the next channel is tried, by the message's channel, from when its carrier has taken it. */
export const DEFAULT_AFTER_SECONDS: Readonly<Record<string, number>> = { WHATSAPP: 3600, RCS: 300 };

/** The error code of messages that ended DELETED because their network revoked them in favour of another channel. */
export const REVOKED = 'REVOKED';
/**
 * The error code of messages that ended DELETED because no carrier had taken them within `fallback.maxWait`, and the
 * reason why the next channel was tried.
 */
export const NOT_TRIED = 'NOT_TRIED';

/** Wait for a lost worker's outcome, a receipt or a person to resolve an unknown outcome. */
export const UNKNOWN_WAIT_MS = 5 * MINUTE_MS;

/** The final state of a message. */
type Ended = { readonly status: number; readonly errorCode: string | null };

/**
 * True if another channel is tried after this final state: not after a delivery or an unknown outcome, and not when a
 * user cancelled the message.
 *
 * @param onStatus names of the only failures that trigger the fallback; all of them when omitted
 */
export function triggersFallback({ status, errorCode }: Ended, onStatus?: readonly string[] | null): boolean {
  if (status === STATUS.UNKNOWN || status === STATUS.DELIVERED) return false;
  if (status === STATUS.DELETED) return errorCode === REVOKED || errorCode === NOT_TRIED;
  return onStatus?.includes(nameOfStatus(status)) ?? true;
}

/** A message with another channel behind it, as far as its clock is concerned. */
export type Timed = {
  /** Start of its wait for a carrier: its creation, or its scheduled time. */
  readonly from: Date;
  /** Time at which a carrier took it; null while none has it. */
  readonly submittedAt: Date | null;
};

/** The times of a channel: `afterSeconds` with its carrier, and `maxWaitSeconds` at most until a carrier takes it. */
export type Times = { readonly afterSeconds: number; readonly maxWaitSeconds: number };

/**
 * Returns how long the message still has on its channel, in ms; 0 or less: its time is over.
 *
 * The clock starts when a carrier takes the message. It stops while the message waits in the queue, is throttled or
 * belongs to something that is paused; only `maxWaitSeconds` limits that wait. A waiting message could be taken at any
 * moment, so the next check is in `afterSeconds` at the earliest.
 */
export function restMs({ from, submittedAt }: Timed, { afterSeconds, maxWaitSeconds }: Times, now: Date): number {
  const afterMs = afterSeconds * SECOND_MS;
  if (submittedAt !== null) return submittedAt.getTime() + afterMs - now.getTime();
  return Math.min(afterMs, from.getTime() + maxWaitSeconds * SECOND_MS - now.getTime());
}

/** NOTIFY channel that is raised when a message with a fallback has reached a final state. */
export const FALLBACKS_CHANNEL = 'heliograph_fallbacks';

/** The key of a message. */
export type Key = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly Key[]) =>
  sql`${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u`;

/** Messages that may follow a message on other channels. */
export type NewFallback = Key & {
  /** Earliest time at which the message may be sent; null: now. */
  readonly from: Date | null;
  readonly hops: readonly Hop[];
};

/** Stores the fallbacks of messages. The statement is sent before this returns, as a `burst` needs it. */
export async function insertFallbacks(db: Db, rows: readonly NewFallback[]): Promise<void> {
  await exec(
    db,
    insertRows(
      'message_fallback',
      rows.map(({ accountId, id, from, hops }) => ({
        accountId,
        messageId: id,
        hops,
        startsAt: from,
        seconds: hops[0]?.afterSeconds ?? 0,
      })),
      {
        accountId: bigint,
        messageId: uuid,
        hops: json((r) => JSON.stringify(r.hops)),
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
  hops: as<Hop[]>('f.hops'),
});
/** A message whose fallback is due, with the hops that may follow it, next first. */
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
  /** True if it was sent twice because the first submit was never answered. */
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
 * Lists those of these messages that were to be revoked by their network, and whether a response was recorded: until
 * then, or until their final state, the network is asked again.
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
