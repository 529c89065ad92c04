import { plainArray, textArray } from '../../platform/db/array.ts';
import { type Db, many, maybeOne, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { STATUS } from '../states.ts';

export type MessageRecord = {
  id: string;
  clientId: string | null;
  channel: Channel;
  destination: string;
  sender: string;
  parts: number;
  priceMicros: number;
  campaignId: number | null;
  /** Null before the first outcome. */
  possibleDuplicate: boolean | null;
  status: number | null;
  submittedAt: Date | null;
  doneAt: Date | null;
  updatedAt: Date | null;
  readAt: Date | null;
  errorCode: string | null;
  errorText: string | null;
};

const RECORD = sql`m.id, m.client_id AS "clientId", m.channel, m.destination, m.sender, m.parts,
  m.price_micros AS "priceMicros", s.possible_duplicate AS "possibleDuplicate", s.status,
  s.submitted_at AS "submittedAt", s.done_at AS "doneAt", s.updated_at AS "updatedAt", s.error_code AS "errorCode",
  s.error_text AS "errorText", m.campaign_id AS "campaignId", s.read_at AS "readAt"`;

/** Messages of one account by our ids; unknown and foreign ids are left out. */
export async function listRecordsById(
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageRecord[]> {
  const list = plainArray(ids);
  // The ids are named twice so that only their days' partitions are planned, of either table.
  return many(
    db,
    sql`SELECT ${RECORD} FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id = ANY(${list}::uuid[])
        WHERE m.account_id = ${accountId} AND m.id = ANY(${list}::uuid[])`,
  );
}

/** The newest messages of one account under these client ids: of a send with fallbacks, the last that was made. */
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

/** The network's word on why it holds a message back; undefined when it does not, or has sent it since. */
export async function findHold(db: Db, { accountId, id }: OneMessage): Promise<string | undefined> {
  const row = await maybeOne<{ word: string }>(
    db,
    sql`SELECT h.text AS word FROM message_event h
        WHERE h.account_id = ${accountId} AND h.message_id = ${id} AND h.kind = 'held' AND NOT EXISTS (
          SELECT FROM message_event r
          WHERE r.account_id = ${accountId} AND r.message_id = ${id} AND r.kind = 'receipt'
            AND r.details->>'status' = ${String(STATUS.ACCEPTED)})`,
  );
  return row?.word;
}

/** All that the rows of one message tell of its history. */
export type MessageHistory = {
  id: string;
  clientId: string | null;
  channel: Channel;
  simulation: boolean;
  parts: number;
  priceMicros: number;
  refundUndelivered: boolean;
  keepsReserve: boolean;
  currency: string | null;
  scheduledAt: Date | null;
  keyId: number | null;
  keyName: string | null;
  userId: number | null;
  username: string | null;
  queuedOn: string | null;
  status: number | null;
  attempts: number | null;
  connection: string | null;
  carrierId: string | null;
  submittedAt: Date | null;
  doneAt: Date | null;
  updatedAt: Date | null;
  readAt: Date | null;
  errorCode: string | null;
  errorText: string | null;
  receiptText: string | null;
};

type OneMessage = { accountId: number; id: string };

export async function findHistory(db: Db, { accountId, id }: OneMessage): Promise<MessageHistory | undefined> {
  return maybeOne(
    db,
    sql`SELECT m.id, m.client_id AS "clientId", m.channel, m.simulation, m.parts, m.price_micros AS "priceMicros",
               m.refund_undelivered AS "refundUndelivered", m.keeps_reserve AS "keepsReserve", b.currency, m.scheduled_at AS "scheduledAt",
               m.api_key_id AS "keyId", k.name AS "keyName", m.user_id AS "userId", p.username,
               queue.name AS "queuedOn", s.status, s.attempts, c.name AS connection, s.carrier_id AS "carrierId",
               s.submitted_at AS "submittedAt", s.done_at AS "doneAt", s.updated_at AS "updatedAt",
               s.read_at AS "readAt", s.error_code AS "errorCode", s.error_text AS "errorText", s.receipt_text AS "receiptText"
        FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id AND s.id = ${id}
        LEFT JOIN credit_balance b ON b.account_id = m.account_id
        LEFT JOIN api_key k ON k.id = m.api_key_id
        LEFT JOIN app_user p ON p.id = m.user_id
        LEFT JOIN connection queue ON queue.id = m.connection_id
        LEFT JOIN connection c ON c.id = s.connection_id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );
}

export type PartHistory = {
  part: number;
  carrierId: string;
  connection: string | null;
  status: number;
  doneAt: Date | null;
  receiptText: string | null;
};

/** The parts of a long message that a carrier took, in order. */
export async function listPartHistory(db: Db, { accountId, id }: OneMessage): Promise<PartHistory[]> {
  return many(
    db,
    sql`SELECT p.part, p.carrier_id AS "carrierId", c.name AS connection, p.status, p.done_at AS "doneAt",
               p.receipt_text AS "receiptText"
        FROM message_part p LEFT JOIN connection c ON c.id = p.connection_id
        WHERE p.account_id = ${accountId} AND p.message_id = ${id} ORDER BY p.part`,
  );
}
