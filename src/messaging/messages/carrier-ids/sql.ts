import { bigint, int, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, type Sql, sql, tuples } from '../../../platform/db/query.ts';

/** A message, or the part of a long message, that has a carrier id. Receipts come in batches, so it has no names. */
export type CarrierIdHit = [
  /** The place of the carrier id in the request. */
  n: number,
  accountId: number,
  id: string,
  part: number | null,
];

/** A bare carrier id to look for; `exact` is the only spelling that fits, or null when any does. */
export type SpelledId = { readonly bare: string; readonly exact: string | null };

/** Computes the bare form of a stored id. It must be the expression of the indexes exactly. */
const BARE = (column: Sql) => sql`ltrim(upper(${column} COLLATE "C"), '0')`;

/**
 * Lists the messages and parts of a connection that have one of these carrier ids, among ids in [firstId, lastId].
 *
 * The array repeats the condition of the join so that the index is searched for these ids: while a table has no
 * statistics, the planner expects the join to find nothing and reads the connection's whole index.
 */
export async function listByCarrierIds(
  db: Db,
  request: { connectionId: number; carrierIds: readonly SpelledId[]; firstId: string; lastId: string },
): Promise<CarrierIdHit[]> {
  return tuples(
    db,
    sql`WITH u AS (
          SELECT ids.bare, ids.exact, ids.n FROM ${rowsOf(request.carrierIds, {
            bare: text((id) => id.bare),
            exact: text((id) => id.exact),
            n: int((_, i) => i),
          })} AS ids)
        SELECT u.n, s.account_id, s.id, NULL::smallint FROM u
        JOIN message_state s ON ${BARE(sql`s.carrier_id`)} = u.bare AND s.carrier_id = coalesce(u.exact, s.carrier_id)
        WHERE s.connection_id = ${request.connectionId} AND ${BARE(sql`s.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND s.id BETWEEN ${request.firstId} AND ${request.lastId}
        UNION ALL
        SELECT u.n, p.account_id, p.message_id, p.part FROM u
        JOIN message_part p ON ${BARE(sql`p.carrier_id`)} = u.bare AND p.carrier_id = coalesce(u.exact, p.carrier_id)
        WHERE p.connection_id = ${request.connectionId} AND ${BARE(sql`p.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND p.message_id BETWEEN ${request.firstId} AND ${request.lastId}`,
  );
}

/** A message, as the hits of `listByCarrierIds` name it. */
export type MessageKey = { readonly accountId: number; readonly id: string };

/** Lists these messages, of any accounts, with the numbers they were sent to. */
export async function listNumbers(
  db: Db,
  messages: readonly MessageKey[],
): Promise<[accountId: number, id: string, destination: string][]> {
  return tuples(
    db,
    sql`SELECT m.account_id, m.id, m.destination
        FROM ${rowsOf(messages, { account_id: bigint((m) => m.accountId), id: uuid((m) => m.id) })} AS wanted
        JOIN message m ON m.account_id = wanted.account_id AND m.id = wanted.id`,
  );
}
