import { plainArray } from '../../../platform/db/array.ts';
import { rowsOf, smallint, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, maybeOne, one, sql, tuples } from '../../../platform/db/query.ts';
import type { Job } from '../run/sql.ts';

/** What is known of a message of a campaign and of its recipient. */
export type MessageFact = [
  id: string,
  destination: string,
  channel: string,
  sender: string,
  priceMicros: number,
  refundUndelivered: boolean,
  /** Null while it waits in the queue. */
  status: number | null,
  errorCode: string | null,
  connectionId: number | null,
  /** The last hop of its recipient and the message that it is; null while the first message is all. */
  hop: number | null,
  hopMessageId: string | null,
  /** A carrier has it, or may have it. False while it waits to be tried again. */
  submitted: boolean,
];

/** All ids lie in [firstId, lastId]; messages that are not the campaign's are left out. */
export async function listMessageFacts(
  db: Db,
  { accountId, campaignId }: Job,
  { ids, firstId, lastId }: { ids: readonly string[]; firstId: string; lastId: string },
): Promise<MessageFact[]> {
  return tuples(
    db,
    sql`SELECT m.id, m.destination, m.channel, m.sender, m.price_micros, m.refund_undelivered, s.status, s.error_code,
               s.connection_id, h.hop, h.message_id, s.submitted_at IS NOT NULL
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
  /** On which the recipient was not reached. */
  readonly fromChannel: string;
};

/** Notes that recipients went on. Fails when one has this hop already: nobody gets two copies. */
export async function insertHops(db: Db, { accountId, campaignId }: Job, hops: readonly NewHop[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO campaign_hop (account_id, campaign_id, destination, hop, message_id, reason, from_channel)
        SELECT ${accountId}, ${campaignId}, u.destination, u.hop, u.message_id, u.reason, u.from_channel
        FROM ${rowsOf(hops, {
          destination: text((h) => h.destination),
          hop: smallint((h) => h.hop),
          message_id: uuid((h) => h.messageId),
          reason: text((h) => h.reason),
          from_channel: text((h) => h.fromChannel),
        })} AS u`,
  );
}

/** Puts ends of messages back, to be looked at when the quiet hours of their recipients are over. */
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

export type Batch = { id: number; country: string; messageIds: string[] };

/** The batch whose time for its channel has been over for longest. */
export async function findDueBatch(db: Db, { accountId, campaignId }: Job): Promise<Batch | undefined> {
  const row = await maybeOne<{ id: number; country: string; ids: string }>(
    db,
    sql`SELECT id, country, array_to_string(message_ids, ',') AS ids FROM campaign_batch
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND due_at <= now()
        ORDER BY due_at, id LIMIT 1`,
  );
  return row && { id: row.id, country: row.country, messageIds: row.ids.split(',') };
}

/** When to look at a batch again; null: never. */
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

/** When the next batch or held outcome of a campaign is due, in ms from now; null when none waits. */
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
