import { bigint, rowsOf, uuid } from '../../../../platform/db/columns.ts';
import { type Db, many, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import type { Channel } from '../../../../platform/lib/channel.ts';
import type { ReceivedFacts, SentFacts } from '../payload.ts';

type Key = { readonly accountId: number; readonly messageId: string };

const keysOf = (keys: readonly Key[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.messageId) });

const SENT_FACTS = columns({
  messageId: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  destination: as<string>('m.destination'),
  wantReceipt: as<boolean>('m.want_receipt'),
  submittedAt: as<Date | null>('s.submitted_at'),
});

/**
 * Lists the facts of sent messages for the bodies of events; the ids of both tables lie in [firstId, lastId].
 *
 * The limits make the planner look up each key. Without statistics it read every row of that range instead: for single
 * sends, 130 µs of CPU a message.
 */
export async function listSentFacts(
  db: Db,
  { keys, firstId, lastId }: { keys: readonly Key[]; firstId: string; lastId: string },
): Promise<(RowOf<typeof SENT_FACTS> & Omit<SentFacts, 'kind'>)[]> {
  return many(
    db,
    sql`SELECT ${SENT_FACTS}
        FROM ${keysOf(keys)} AS u
        CROSS JOIN LATERAL (
          SELECT id, client_id, channel, destination, want_receipt FROM message
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} LIMIT 1) AS m
        LEFT JOIN LATERAL (
          SELECT submitted_at FROM message_state
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} LIMIT 1) AS s ON true`,
  );
}

const RECEIVED_FACTS = columns({
  messageId: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  messageType: as<string>('m.message_type'),
  source: as<string>('m.source'),
  destination: as<string>('m.destination'),
  ownNumber: as<string | null>("m.details->>'ownNumber'"),
  text: as<string>('m.body'),
});

/**
 * Lists the facts of inbound messages for the bodies of events. Carriers write numbers without a plus, and short codes.
 */
export async function listReceivedFacts(
  db: Db,
  { keys }: { keys: readonly Key[] },
): Promise<(RowOf<typeof RECEIVED_FACTS> & Omit<ReceivedFacts, 'kind'>)[]> {
  return many(
    db,
    sql`SELECT ${RECEIVED_FACTS}
        FROM ${keysOf(keys)} AS u JOIN inbound_message m ON m.account_id = u.account_id AND m.id = u.id`,
  );
}
