import { bigint, rowsOf, uuid } from '../../../../platform/db/columns.ts';
import { type Db, many, sql } from '../../../../platform/db/query.ts';
import type { ReceivedFacts, SentFacts } from '../payload.ts';

type Key = { readonly accountId: number; readonly messageId: string };

const keysOf = (keys: readonly Key[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.messageId) });

type Row<F> = Omit<F, 'kind'> & { readonly messageId: string };

/** What the bodies of events need of messages that were sent; all ids lie in [firstId, lastId], of either table. */
export async function listSentFacts(
  db: Db,
  { keys, firstId, lastId }: { keys: readonly Key[]; firstId: string; lastId: string },
): Promise<Row<SentFacts>[]> {
  return many(
    db,
    sql`SELECT m.id AS "messageId", m.client_id AS "clientId", m.channel, m.destination, m.want_receipt AS "wantReceipt",
               s.submitted_at AS "submittedAt"
        FROM ${keysOf(keys)} AS u JOIN message m ON m.account_id = u.account_id AND m.id = u.id
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
          AND s.id BETWEEN ${firstId} AND ${lastId}
        WHERE m.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/** What the bodies of events need of inbound messages. Carriers write numbers without a plus, and short codes. */
export async function listReceivedFacts(db: Db, { keys }: { keys: readonly Key[] }): Promise<Row<ReceivedFacts>[]> {
  return many(
    db,
    sql`SELECT m.id AS "messageId", m.channel, m.message_type AS "messageType", m.source, m.destination, m.body AS text
        FROM ${keysOf(keys)} AS u JOIN inbound_message m ON m.account_id = u.account_id AND m.id = u.id`,
  );
}
