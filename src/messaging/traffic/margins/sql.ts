import { bigint, insertRows, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { boundsOf } from '../../../platform/lib/ids.ts';

/** Addition to the margin of an account, a day (UTC), a connection and a country (its calling code). */
export type MarginRow = {
  readonly accountId: number;
  readonly day: Date;
  readonly connectionId: number;
  readonly country: string;
  messages: number;
  units: number;
  uncosted: number;
  earnedMicros: number;
  costMicros: number;
};

/**
 * Adds to one shard of the days. The rows must be in the order of their keys, because they are locked in that order.
 */
export async function insertMargins(
  db: Db,
  { rows, shard }: { rows: readonly MarginRow[]; shard: number },
): Promise<void> {
  await exec(
    db,
    onePlan(sql`${insertRows(
      'margin_day AS t',
      rows,
      {
        accountId: bigint,
        day: timestamptz,
        connectionId: bigint,
        country: text,
        messages: bigint,
        units: bigint,
        uncosted: bigint,
        earnedMicros: bigint,
        costMicros: bigint,
      },
      { shard: sql`${shard}` },
    )}
        ON CONFLICT (account_id, day, connection_id, country, shard) DO UPDATE
          SET messages = t.messages + excluded.messages, units = t.units + excluded.units,
              uncosted = t.uncosted + excluded.uncosted, earned_micros = t.earned_micros + excluded.earned_micros,
              cost_micros = t.cost_micros + excluded.cost_micros`),
  );
}

const EARNING_PLACE = columns({
  id: as<string>('s.id'),
  connectionId: as<number>('s.connection_id'),
  destination: as<string>('m.destination'),
});
/** The connection and the destination of a message. */
export type EarningPlace = RowOf<typeof EARNING_PLACE>;

type Key = { readonly accountId: number; readonly id: string };

/**
 * Lists the places of messages that went over connections with costs. Where no costs are set at all, no message is
 * read.
 */
export async function listEarningPlaces(db: Db, { keys }: { keys: readonly Key[] }): Promise<EarningPlace[]> {
  const [firstId, lastId] = boundsOf(keys.map(({ id }) => id));
  return many(
    db,
    sql`SELECT ${EARNING_PLACE}
        FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u
        JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}
        WHERE EXISTS (SELECT FROM connection_cost)
          AND s.connection_id IN (SELECT connection_id FROM connection_cost)`,
  );
}
