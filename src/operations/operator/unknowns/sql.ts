import { type Db, many, one, sql } from '../../../platform/db/query.ts';

export type UnknownRow = {
  messageId: string;
  accountId: number;
  account: string;
  connection: string | null;
  destination: string;
  sender: string;
  parts: number;
  since: Date;
  ageSeconds: number;
  reason: string;
};

type Filter = { readonly accountId: number | null; readonly connection: string | null };

const unknowns = ({ accountId, connection }: Filter) => sql`
  FROM unknown_outcome o JOIN account a ON a.id = o.account_id LEFT JOIN connection c ON c.id = o.connection_id
  WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
    AND (${connection}::text IS NULL OR c.name = ${connection})`;

/** The oldest first. */
export async function listUnknownPage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<UnknownRow[]> {
  return many(
    db,
    sql`SELECT o.message_id AS "messageId", o.account_id AS "accountId", a.name AS account, c.name AS connection,
               o.destination, o.sender, o.parts, o.created_at AS since, o.reason,
               extract(epoch FROM now() - o.created_at)::float8 AS "ageSeconds"
        ${unknowns(filter)} ORDER BY o.created_at, o.message_id LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countUnknowns(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${unknowns(filter)}`)).total;
}
