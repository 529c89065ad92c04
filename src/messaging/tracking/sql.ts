import { plainArray, textArray } from '../../platform/db/array.ts';
import { type Db, many, maybeOne, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { STATUS } from '../states.ts';

const RECORD = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  sender: as<string>('m.sender'),
  /** The requested sender, if it was replaced. */
  askedSender: as<string | null>('m.asked_sender'),
  parts: as<number>('m.parts'),
  /** Its cost: 0 once its price was returned. */
  costMicros: as<number>('CASE WHEN s.credit_returned THEN 0 ELSE m.price_micros END'),
  campaignId: as<number | null>('m.campaign_id'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  /** True if its scheduled time is in the future. */
  isScheduled: as<boolean>('coalesce(m.scheduled_at > now(), false)'),
  /** Null before the first outcome; so are the fields below, which come from `message_state`. */
  possibleDuplicate: as<boolean | null>('s.possible_duplicate'),
  status: as<number | null>('s.status'),
  submittedAt: as<Date | null>('s.submitted_at'),
  doneAt: as<Date | null>('s.done_at'),
  updatedAt: as<Date | null>('s.updated_at'),
  readAt: as<Date | null>('s.read_at'),
  errorCode: as<string | null>('s.error_code'),
  errorText: as<string | null>('s.error_text'),
});
/** A message with its current state. */
export type MessageRecord = RowOf<typeof RECORD>;

/**
 * Lists messages of one account by our ids. The ids are in lower case; unknown ones and those of other accounts are
 * omitted.
 *
 * Both tables are limited to the ids, so that only the partitions of their days are planned. For the states a range
 * does it: a list would invite PostgreSQL to read their BRIN index once for each id. On a day with 1,000,000 messages
 * that took 3 s for 1,000 ids; by the key it takes 35 ms.
 */
export async function listRecordsById(
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageRecord[]> {
  const sorted = ids.toSorted();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined) return [];
  return many(
    db,
    sql`SELECT ${RECORD} FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id BETWEEN ${first} AND ${last}
        WHERE m.account_id = ${accountId} AND m.id = ANY(${plainArray(ids)}::uuid[])`,
  );
}

/**
 * Lists the newest message of one account under each of these client ids: in a send with fallbacks, the last one made.
 */
export async function listMessageIdsByClientId(
  db: Db,
  { accountId, clientIds }: { accountId: number; clientIds: readonly string[] },
): Promise<{ clientId: string; messageId: string }[]> {
  return many(
    db,
    sql`SELECT client_id AS "clientId", coalesce(newest_id, message_id) AS "messageId" FROM client_message_id
        WHERE account_id = ${accountId} AND client_id = ANY(${textArray(clientIds)}::text[])`,
  );
}

/**
 * Finds the network's reason for holding a message back; undefined when it does not hold it, or has sent it in the
 * meantime.
 */
export async function findHold(db: Db, { accountId, id }: OneMessage): Promise<string | undefined> {
  const row = await maybeOne<{ text: string }>(
    db,
    sql`SELECT h.text FROM message_event h
        WHERE h.account_id = ${accountId} AND h.message_id = ${id} AND h.kind = 'held' AND NOT EXISTS (
          SELECT FROM message_event r
          WHERE r.account_id = ${accountId} AND r.message_id = ${id} AND r.kind = 'receipt'
            AND r.details->>'status' = ${String(STATUS.ACCEPTED)})`,
  );
  return row?.text;
}

const MESSAGE_HISTORY = columns({
  id: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  simulation: as<boolean>('m.simulation'),
  sender: as<string>('m.sender'),
  /** The requested sender, if it was replaced. */
  askedSender: as<string | null>('m.asked_sender'),
  parts: as<number>('m.parts'),
  priceMicros: as<number>('m.price_micros'),
  refundUndelivered: as<boolean>('m.refund_undelivered'),
  keepsReserve: as<boolean>('m.keeps_reserve'),
  currency: as<string | null>('b.currency'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  keyId: as<number | null>('m.api_key_id'),
  keyName: as<string | null>('k.name'),
  userId: as<number | null>('m.user_id'),
  username: as<string | null>('p.username'),
  credentialId: as<number | null>('m.smpp_credential_id'),
  /** The system_id of that credential, unless it was deleted. */
  systemId: as<string | null>('smpp.system_id'),
  /** The connection to which the message was queued. */
  queuedOn: as<string | null>('queue.name'),
  /** Reason for that connection, where it did not follow from the prefix alone. */
  routeReason: as<string | null>('m.route_reason'),
  status: as<number | null>('s.status'),
  attempts: as<number | null>('s.attempts'),
  /** The connection of the last attempt. */
  connection: as<string | null>('c.name'),
  carrierId: as<string | null>('s.carrier_id'),
  submittedAt: as<Date | null>('s.submitted_at'),
  doneAt: as<Date | null>('s.done_at'),
  updatedAt: as<Date | null>('s.updated_at'),
  readAt: as<Date | null>('s.read_at'),
  errorCode: as<string | null>('s.error_code'),
  errorText: as<string | null>('s.error_text'),
  /** True if its price went back to the account, or to the reserve of its campaign. */
  creditReturned: as<boolean>('coalesce(s.credit_returned, false)'),
  receiptText: as<string | null>('s.receipt_text'),
});
/** All parts of a message's history that its own rows hold. */
export type MessageHistory = RowOf<typeof MESSAGE_HISTORY>;

type OneMessage = { accountId: number; id: string };

/** Finds the parts of a message's history that its own rows hold. */
export const findHistory = (db: Db, { accountId, id }: OneMessage): Promise<MessageHistory | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${MESSAGE_HISTORY}
        FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id = ${id}
        LEFT JOIN credit_balance b ON b.account_id = m.account_id
        LEFT JOIN api_key k ON k.id = m.api_key_id
        LEFT JOIN app_user p ON p.id = m.user_id
        LEFT JOIN smpp_credential smpp ON smpp.account_id = m.account_id AND smpp.id = m.smpp_credential_id
        LEFT JOIN connection queue ON queue.id = m.connection_id
        LEFT JOIN connection c ON c.id = s.connection_id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );

const PART_HISTORY = columns({
  part: as<number>('p.part'),
  carrierId: as<string>('p.carrier_id'),
  connection: as<string | null>('c.name'),
  status: as<number>('p.status'),
  doneAt: as<Date | null>('p.done_at'),
  receiptText: as<string | null>('p.receipt_text'),
});
/** A part of a long message that a carrier accepted. */
export type PartHistory = RowOf<typeof PART_HISTORY>;

/** Lists the parts of a long message that a carrier accepted, in order. */
export const listPartHistory = (db: Db, { accountId, id }: OneMessage): Promise<PartHistory[]> =>
  many(
    db,
    sql`SELECT ${PART_HISTORY}
        FROM message_part p LEFT JOIN connection c ON c.id = p.connection_id
        WHERE p.account_id = ${accountId} AND p.message_id = ${id} ORDER BY p.part`,
  );
