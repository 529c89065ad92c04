import { plainArray } from '../../../platform/db/array.ts';
import { insertRows, smallint, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Job } from '../run/sql.ts';

const MESSAGE_FACT = columns({
  id: as<string>('m.id'),
  destination: as<string>('m.destination'),
  channel: as<string>('m.channel'),
  sender: as<string>('m.sender'),
  priceMicros: as<number>('m.price_micros'),
  refundUndelivered: as<boolean>('m.refund_undelivered'),
  /** Null while the message waits in the queue. */
  status: as<number | null>('s.status'),
  errorCode: as<string | null>('s.error_code'),
  connectionId: as<number | null>('s.connection_id'),
  /** The last hop of its recipient; null as long as there is only the first message. */
  hop: as<number | null>('h.hop'),
  /** The message of that hop. */
  hopMessageId: as<string | null>('h.message_id'),
  /** Whether a carrier has the message, or may have it. False while it waits to be tried again. */
  submitted: as<boolean>('s.submitted_at IS NOT NULL'),
});

/** What is known of a message of a campaign, and of its recipient. */
export type MessageFact = RowOf<typeof MESSAGE_FACT>;

/**
 * Lists the facts about messages of a campaign, in the order of `ids`. All ids must lie in [firstId, lastId]. Messages
 * that do not belong to the campaign are left out.
 */
export async function listMessageFacts(
  db: Db,
  { accountId, campaignId }: Job,
  { ids, firstId, lastId }: { ids: readonly string[]; firstId: string; lastId: string },
): Promise<MessageFact[]> {
  return many(
    db,
    sql`SELECT ${MESSAGE_FACT}
        FROM unnest(${plainArray(ids)}::uuid[]) WITH ORDINALITY AS u (id, n)
        JOIN message m ON m.account_id = ${accountId} AND m.id = u.id AND m.campaign_id = ${campaignId}
        LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
        LEFT JOIN LATERAL (
          SELECT hop, message_id FROM campaign_hop
          WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND destination = m.destination COLLATE "C"
          ORDER BY hop DESC LIMIT 1) AS h ON true
        WHERE m.id BETWEEN ${firstId} AND ${lastId}
        ORDER BY u.n`,
  );
}

export type NewHop = {
  readonly destination: string;
  readonly hop: number;
  readonly messageId: string;
  readonly reason: string;
  /** The channel on which the recipient was not reached. */
  readonly fromChannel: string;
};

/**
 * Records that recipients are tried on another channel. Fails when a recipient has this hop already, so that nobody
 * gets two copies.
 */
export async function insertHops(db: Db, { accountId, campaignId }: Job, hops: readonly NewHop[]): Promise<void> {
  await exec(
    db,
    insertRows(
      'campaign_hop',
      hops,
      { destination: text, hop: smallint, messageId: uuid, reason: text, fromChannel: text },
      { account_id: sql`${accountId}`, campaign_id: sql`${campaignId}` },
    ),
  );
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
export type Batch = { id: number; country: string; messageIds: string[] };

/** Finds the batch whose time on its channel ended first; undefined when there is none. */
export async function findDueBatch(db: Db, { accountId, campaignId }: Job): Promise<Batch | undefined> {
  const row = await maybeOne<{ id: number; country: string; ids: string }>(
    db,
    sql`SELECT id, country, array_to_string(message_ids, ',') AS ids FROM campaign_batch
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND due_at <= now()
        ORDER BY due_at, id LIMIT 1`,
  );
  return row && { id: row.id, country: row.country, messageIds: row.ids.split(',') };
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

/** Returns in how many ms the next batch or postponed outcome of a campaign is due; null when none is waiting. */
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
