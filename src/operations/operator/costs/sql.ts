import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const COST = columns({
  id: as<number>('k.id'),
  connection: as<string>('c.name'),
  prefix: as<string>('k.prefix'),
  network: as<string | null>('k.network'),
  /** Per part on SMS, and per message on other channels. */
  unitMicros: as<number>('k.unit_micros'),
});
export type CostRow = RowOf<typeof COST>;

type Filter = {
  readonly connection: string | null;
  /** The digits with which the prefixes begin. */
  readonly prefix: string | null;
};

const COSTS = sql`connection_cost k JOIN connection c ON c.id = k.connection_id`;

const matches = ({ connection, prefix }: Filter) => sql`FROM ${COSTS}
  WHERE (${connection}::text IS NULL OR c.name = ${connection}) AND (${prefix}::text IS NULL OR starts_with(k.prefix, ${prefix}))`;

export async function listCostPage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<CostRow[]> {
  return many(
    db,
    sql`SELECT ${COST} ${matches(filter)}
        ORDER BY c.name, k.prefix, k.network NULLS FIRST LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countCosts(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(filter)}`)).total;
}

export async function findCost(db: Db, { id }: { id: number }): Promise<CostRow | undefined> {
  return maybeOne(db, sql`SELECT ${COST} FROM ${COSTS} WHERE k.id = ${id}`);
}

/** Finds the cost that is stored for exactly this key. */
export async function findCostAt(
  db: Db,
  { connection, prefix, network }: { connection: string; prefix: string; network: string | null },
): Promise<CostRow> {
  return one(
    db,
    sql`SELECT ${COST} FROM ${COSTS}
        WHERE c.name = ${connection} AND k.prefix = ${prefix} AND k.network IS NOT DISTINCT FROM ${network}`,
  );
}
