import type { Channel } from '../core/channels.ts';
import { insertRows, rowsOf, smallint, text, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
  textArray,
} from '../core/db/query.ts';
import { COUNTRY_PREFIXES } from '../core/phone.ts';
import { TIME } from '../messages/next-channel.ts';
import type { Job } from './run.ts';

const MESSAGE_FACT = columns({
  id: as<string>('m.id'),
  destination: as<string>('m.destination'),
  channel: as<Channel>('m.channel'),
  sender: as<string>('m.sender'),
  priceMicros: as<number>('m.price_micros'),
  refundUndelivered: as<boolean>('m.refund_undelivered'),
  /** True if it costs nothing, because its price was returned. */
  creditReturned: as<boolean>('coalesce(s.credit_returned, false)'),
  country: as<string>('r.country'),
  /** The bits of the channels that can reach the recipient. */
  channels: as<number>('r.channels'),
  /** The maximum number of parts of an SMS to the recipient. */
  smsParts: as<number>('r.sms_parts'),
  reserveMicros: as<number>('r.reserve_micros'),
  /** Status of the message; null while it waits in the queue. */
  status: as<number | null>('s.status'),
  errorCode: as<string | null>('s.error_code'),
  connectionId: as<number | null>('s.connection_id'),
  /** Number of the last fallback of its recipient; null as long as there is only the first message. */
  fallbackNumber: as<number | null>('h.fallback_number'),
  fallbackMessageId: as<string | null>('h.message_id'),
  /** Time at which a carrier took the message, or may have taken it; null while it waits, also to be tried again. */
  submittedAt: as<Date | null>('s.submitted_at'),
});

/** State of a message of a campaign, and of its recipient. */
export type MessageFact = RowOf<typeof MESSAGE_FACT>;

const PREFIX_ROWS = sql`${rowsOf(COUNTRY_PREFIXES, { country: text((row) => row.country), prefix: text((row) => row.prefix) })} AS p`;

/**
 * Lists the facts about messages of a campaign, in the order of `ids`. All ids must lie in [firstId, lastId]. Messages
 * that do not belong to the campaign are omitted.
 */
export async function listMessageFacts(
  db: Db,
  { accountId, campaignId }: Job,
  { ids, firstId, lastId }: { ids: readonly string[]; firstId: string; lastId: string },
): Promise<MessageFact[]> {
  return many(
    db,
    sql`WITH lanes AS MATERIALIZED (
          SELECT DISTINCT l.country, p.prefix FROM campaign_lane l LEFT JOIN ${PREFIX_ROWS} ON p.country = l.country
          WHERE l.account_id = ${accountId} AND l.campaign_id = ${campaignId})
        SELECT ${MESSAGE_FACT}
        FROM unnest(${plainArray(ids)}::uuid[]) WITH ORDINALITY AS u (id, n)
        JOIN message m ON m.account_id = ${accountId} AND m.id = u.id AND m.campaign_id = ${campaignId}
        LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
        LEFT JOIN LATERAL (
          SELECT fallback_number, message_id FROM campaign_fallback
          WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND destination = m.destination COLLATE "C"
          ORDER BY fallback_number DESC LIMIT 1) AS h ON true
        -- The country is found by trying all lanes, each by the key of the recipients; first those of its calling code,
        -- because with 30 countries all that come before cost 0.2 ms.
        CROSS JOIN LATERAL (
          SELECT q.country, q.channels, q.sms_parts, q.reserve_micros
          FROM (SELECT country FROM lanes WHERE starts_with(m.destination, prefix)
                UNION ALL SELECT country FROM lanes WHERE starts_with(m.destination, prefix) IS NOT TRUE) AS l
          CROSS JOIN LATERAL (
            SELECT country, channels, sms_parts, reserve_micros FROM campaign_recipient p
            WHERE p.account_id = ${accountId} AND p.campaign_id = ${campaignId} AND p.country = l.country
              AND p.destination = m.destination COLLATE "C" OFFSET 0) AS q
          LIMIT 1) AS r
        WHERE m.id BETWEEN ${firstId} AND ${lastId}
        ORDER BY u.n`,
  );
}

export type NewFallback = {
  readonly destination: string;
  readonly fallbackNumber: number;
  readonly messageId: string;
  /** The name of the final status of the previous message, `TIME`, or `NOT_TRIED`. */
  readonly reason: string;
  /** The channel on which the recipient was not reached. */
  readonly fromChannel: string;
};

/**
 * Records that recipients are tried on another channel. Fails when a recipient already has this fallback, so that no one
 * gets two copies.
 */
export async function insertFallbacks(
  db: Db,
  { accountId, campaignId }: Job,
  fallbacks: readonly NewFallback[],
): Promise<void> {
  await exec(
    db,
    insertRows(
      'campaign_fallback',
      fallbacks,
      { destination: text, fallbackNumber: smallint, messageId: uuid, reason: text, fromChannel: text },
      { account_id: sql`${accountId}`, campaign_id: sql`${campaignId}` },
    ),
  );
}

/**
 * Counts deliveries to recipients who were tried on another channel while the previous message could still arrive, one
 * per destination given. Returns the number of these recipients who have now got their second message.
 */
export async function countSecondDeliveries(
  db: Db,
  { accountId, campaignId }: Job,
  destinations: readonly string[],
): Promise<number> {
  const rows = await many<{ second: boolean }>(
    db,
    sql`UPDATE campaign_fallback h SET deliveries = h.deliveries + d.count
        FROM (SELECT destination, count(*) AS count FROM unnest(${textArray(destinations)}::text[]) AS u (destination)
              GROUP BY 1) AS d
        WHERE h.account_id = ${accountId} AND h.campaign_id = ${campaignId} AND h.fallback_number = 1
          AND h.destination = d.destination COLLATE "C" AND EXISTS (
            SELECT FROM campaign_fallback o WHERE o.account_id = ${accountId} AND o.campaign_id = ${campaignId}
              AND o.destination = h.destination AND o.reason = ${TIME})
        RETURNING h.deliveries >= 2 AND h.deliveries - d.count < 2 AS second`,
  );
  return rows.filter(({ second }) => second).length;
}

/** Stores final states of messages again, to be processed when the quiet hours of their recipients are over. */
export async function insertPostponedOutcomes(
  db: Db,
  { accountId, campaignId }: Job,
  held: { messageIds: readonly string[]; statuses: readonly number[]; waitMs: number },
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO campaign_outcome (account_id, campaign_id, message_ids, statuses, due_at)
        VALUES (${accountId}, ${campaignId}, ${plainArray(held.messageIds)}::uuid[],
                ${plainArray(held.statuses)}::smallint[], now() + ${held.waitMs} * interval '1 millisecond')`,
  );
}

/** Messages of one channel and country that were created together. */
export type Batch = { id: number; country: string; firstDestination: string; createdAt: Date; messageIds: string[] };

/** Finds the batch that has been due for longest; undefined when there is none. */
export async function findDueBatch(db: Db, { accountId, campaignId }: Job): Promise<Batch | undefined> {
  const row = await maybeOne<Omit<Batch, 'messageIds'> & { ids: string }>(
    db,
    sql`SELECT id, country, first_destination AS "firstDestination", created_at AS "createdAt", array_to_string(message_ids, ',') AS ids FROM campaign_batch
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND due_at <= now()
        ORDER BY due_at, id LIMIT 1`,
  );
  if (!row) return undefined;
  const { ids, ...batch } = row;
  return { ...batch, messageIds: ids.split(',') };
}

/** Sets when a batch is processed again; null: never. */
export async function updateBatchDue(
  db: Db,
  { accountId, campaignId }: Job,
  { batchId, waitMs }: { batchId: number; waitMs: number | null },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_batch SET due_at = now() + ${waitMs}::float8 * interval '1 millisecond'
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND id = ${batchId}`,
  );
}

/** Returns the ms until the next batch or postponed outcome of a campaign is due; null when none is waiting. */
export async function findNextDueMs(db: Db, { accountId, campaignId }: Job): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM least(
          (SELECT min(due_at) FROM campaign_batch
           WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND due_at IS NOT NULL),
          (SELECT min(due_at) FROM campaign_outcome WHERE account_id = ${accountId} AND campaign_id = ${campaignId})
        ) - now()) * 1000)::float8 AS ms`,
  );
  return ms;
}
