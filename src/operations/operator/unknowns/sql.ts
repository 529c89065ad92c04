import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const UNKNOWN = columns({
  messageId: as<string>('o.message_id'),
  accountId: as<number>('o.account_id'),
  account: as<string>('a.name'),
  /** Null when the connection was removed. */
  connection: as<string | null>('c.name'),
  destination: as<string>('o.destination'),
  sender: as<string>('o.sender'),
  parts: as<number>('o.parts'),
  since: as<Date>('o.created_at'),
  reason: as<string>('o.reason'),
  ageSeconds: as<number>('extract(epoch FROM now() - o.created_at)::float8'),
});
export type UnknownRow = RowOf<typeof UNKNOWN>;

type Filter = { readonly accountId: number | null; readonly connection: string | null };

const unknowns = ({ accountId, connection }: Filter) => sql`
  FROM unknown_outcome o JOIN account a ON a.id = o.account_id LEFT JOIN connection c ON c.id = o.connection_id
  WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
    AND (${connection}::text IS NULL OR c.name = ${connection})`;

/** Lists a page of unknown outcomes, oldest first. */
export async function listUnknownPage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<UnknownRow[]> {
  return many(
    db,
    sql`SELECT ${UNKNOWN}
        ${unknowns(filter)} ORDER BY o.created_at, o.message_id LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countUnknowns(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${unknowns(filter)}`)).total;
}
