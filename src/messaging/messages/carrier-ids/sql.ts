import { int, rowsOf, text } from '../../../platform/db/columns.ts';
import { type Db, sql, tuples } from '../../../platform/db/query.ts';

export type CarrierIdHit = [
  /** The place of the carrier id among those that were asked for. */
  n: number,
  accountId: number,
  id: string,
  part: number | null,
];

/** A bare id as spelled in a receipt; `exact` where only that very spelling is meant. */
export type SpelledId = { readonly bare: string; readonly exact: string | null };

/** The bare form of a stored id; the very expression of the indexes. */
const BARE = (column: ReturnType<typeof sql>) => sql`ltrim(upper(${column} COLLATE "C"), '0')`;

/**
 * The messages and parts of a connection that carry one of these carrier ids, among ids in [firstId, lastId].
 *
 * The array says once more what the join says, so that the index is searched for these ids: while a table has no
 * statistics, the planner expects the join to find nothing, and reads the connection's whole index for it.
 */
export async function listByCarrierIds(
  db: Db,
  look: { connectionId: number; carrierIds: readonly SpelledId[]; firstId: string; lastId: string },
): Promise<CarrierIdHit[]> {
  return tuples(
    db,
    sql`WITH u AS (
          SELECT * FROM ${rowsOf(look.carrierIds, {
            bare: text((id) => id.bare),
            exact: text((id) => id.exact),
            n: int((_, i) => i),
          })} AS ids)
        SELECT u.n, s.account_id, s.id, NULL::smallint FROM u
        JOIN message_state s ON ${BARE(sql`s.carrier_id`)} = u.bare AND s.carrier_id = coalesce(u.exact, s.carrier_id)
        WHERE s.connection_id = ${look.connectionId} AND ${BARE(sql`s.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND s.id BETWEEN ${look.firstId} AND ${look.lastId}
        UNION ALL
        SELECT u.n, p.account_id, p.message_id, p.part FROM u
        JOIN message_part p ON ${BARE(sql`p.carrier_id`)} = u.bare AND p.carrier_id = coalesce(u.exact, p.carrier_id)
        WHERE p.connection_id = ${look.connectionId} AND ${BARE(sql`p.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND p.message_id BETWEEN ${look.firstId} AND ${look.lastId}`,
  );
}
