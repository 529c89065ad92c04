import { plainArray, textArray } from '../db/array.ts';
import { type Db, many, sql } from '../db/query.ts';
import type { Channel } from '../lib/channel.ts';

export type MessageRecord = {
  id: string;
  clientId: string | null;
  channel: Channel;
  destination: string;
  sender: string;
  parts: number;
  priceMicros: number;
  status: number | null;
  submittedAt: Date | null;
  doneAt: Date | null;
  updatedAt: Date | null;
  errorCode: string | null;
  errorText: string | null;
};

const RECORD = sql`m.id, m.client_id AS "clientId", m.channel, m.destination, m.sender, m.parts,
  m.price_micros AS "priceMicros", s.status,
  s.submitted_at AS "submittedAt", s.done_at AS "doneAt", s.updated_at AS "updatedAt", s.error_code AS "errorCode",
  s.error_text AS "errorText"`;

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

/** The newest messages of one account under these client ids. */
export async function listMessageIdsByClientId(
  db: Db,
  { accountId, clientIds }: { accountId: number; clientIds: readonly string[] },
): Promise<{ clientId: string; messageId: string }[]> {
  return many(
    db,
    sql`SELECT client_id AS "clientId", message_id AS "messageId" FROM client_message_id
        WHERE account_id = ${accountId} AND client_id = ANY(${textArray(clientIds)}::text[])`,
  );
}
