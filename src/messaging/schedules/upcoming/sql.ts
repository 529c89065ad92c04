import { type Db, exec, many, maybeOne, one, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

const UPCOMING = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  sender: as<string>('m.sender'),
  body: as<string>('m.body'),
  parts: as<number>('m.parts'),
  priceMicros: as<number>('m.price_micros'),
  validUntil: as<Date | null>('m.valid_until'),
  scheduledAt: as<Date>('m.scheduled_at'),
});
/** A message that waits for the time which its client has chosen. */
export type UpcomingMessage = RowOf<typeof UPCOMING>;

/**
 * The chunks of the account whose time is to come, each with its waiting messages. No worker claims a chunk before its
 * time.
 */
const upcoming = (accountId: number, which: Sql = sql`true`) => sql`
  FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS i (id)
  JOIN message m ON m.account_id = c.account_id AND m.id = i.id
  WHERE c.account_id = ${accountId} AND c.scheduled AND c.owner IS NULL AND c.available_at > now()
    AND (c.withdrawn IS NULL OR i.id <> ALL (c.withdrawn)) AND m.scheduled_at IS NOT NULL AND ${which}`;

type Filter = { readonly accountId: number; readonly channels: readonly Channel[] };

/** Lists the messages of one account that wait for their time on these channels, next first. */
export const listUpcoming = (
  db: Db,
  { accountId, channels, limit, offset }: Filter & { limit: number; offset: number },
): Promise<UpcomingMessage[]> =>
  many(
    db,
    sql`SELECT ${UPCOMING} ${upcoming(accountId, sql`m.channel = ANY(${channels}::text[])`)}
        ORDER BY c.available_at, m.id LIMIT ${limit} OFFSET ${offset}`,
  );

export async function countUpcoming(db: Db, { accountId, channels }: Filter): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total ${upcoming(accountId, sql`m.channel = ANY(${channels}::text[])`)}`,
  );
  return row.total;
}

type One = { readonly accountId: number; readonly id: string };

/** Finds a message of one account that waits for its time. */
export const findUpcoming = (db: Db, { accountId, id }: One): Promise<UpcomingMessage | undefined> =>
  maybeOne(db, sql`SELECT ${UPCOMING} ${upcoming(accountId, sql`i.id = ${id}::uuid`)}`);

/**
 * Locks the chunk in which a message waits for its time, until the transaction ends: no worker can claim it meanwhile.
 * Undefined when the message does not wait for its time any more.
 */
export const claimScheduledChunk = (
  db: Db,
  { accountId, id }: One,
): Promise<{ chunkId: number; connectionId: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT c.id AS "chunkId", c.connection_id AS "connectionId" FROM dispatch_chunk c
        WHERE c.account_id = ${accountId} AND c.scheduled AND c.owner IS NULL AND c.available_at > now()
          AND ${id}::uuid = ANY(c.ids) AND (c.withdrawn IS NULL OR ${id}::uuid <> ALL (c.withdrawn))
        FOR UPDATE`,
  );

/** Queues a message that was withdrawn from a chunk again, like that chunk but for another time. */
export const insertRescheduledChunk = (
  db: Db,
  { accountId, id, chunkId, at }: One & { chunkId: number; at: Date },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, alternates, priority, round, available_at, attempt, tries,
                                    on_unknown, scheduled, size, ids)
        SELECT account_id, connection_id, alternates, priority, round, ${at}, attempt, tries, on_unknown, true, 1,
               ARRAY[${id}::uuid]
        FROM dispatch_chunk WHERE account_id = ${accountId} AND id = ${chunkId}`,
  );

/** Changes the send time of a message and the end of its validity. Only before any carrier has seen it. */
export const updateSchedule = (
  db: Db,
  { accountId, id, at, validUntil }: One & { at: Date; validUntil: Date | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE message SET scheduled_at = ${at}, valid_until = ${validUntil}
        WHERE account_id = ${accountId} AND id = ${id}`,
  );
