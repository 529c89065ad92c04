import { bigint, insertRows, text } from '../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const COST = columns({
  id: as<number>('k.id'),
  connectionId: as<number>('k.connection_id'),
  connection: as<string>('c.name'),
  /** Leading digits without the plus; empty for all numbers. */
  prefix: as<string>('k.prefix'),
  /** MCC and MNC; null for any network. */
  network: as<string | null>('k.network'),
  /** Per part on SMS, per message elsewhere, in millionths of the currency. */
  unitMicros: as<number>('k.unit_micros'),
});
export type Cost = RowOf<typeof COST>;

/** Scope of a cost: a prefix of numbers at a connection, in one network or in any. */
export type CostPlace = Pick<Cost, 'connectionId' | 'prefix' | 'network'>;

/** Lists all costs, by connection, prefix and network. */
export async function listCosts(db: Db): Promise<Cost[]> {
  return many(
    db,
    sql`SELECT ${COST} FROM connection_cost k JOIN connection c ON c.id = k.connection_id
        ORDER BY c.name, k.prefix, k.network NULLS FIRST`,
  );
}

/** Inserts costs, or changes those that exist at the same place. No place may occur twice. */
export async function insertCosts(
  db: Db,
  { costs }: { costs: readonly (CostPlace & Pick<Cost, 'unitMicros'>)[] },
): Promise<void> {
  await exec(
    db,
    sql`${insertRows('connection_cost', costs, { connectionId: bigint, prefix: text, network: text, unitMicros: bigint })}
        ON CONFLICT (connection_id, prefix, network) DO UPDATE SET unit_micros = excluded.unit_micros`,
  );
}

/** Deletes the cost of a place; returns 0 when there is none. */
export async function deleteCost(db: Db, { connectionId, prefix, network }: CostPlace): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM connection_cost
        WHERE connection_id = ${connectionId} AND prefix = ${prefix} AND network IS NOT DISTINCT FROM ${network}`,
  );
}

/** Deletes all costs of a connection; returns their number. */
export async function deleteCostsOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM connection_cost WHERE connection_id = ${connectionId}`);
}
