import { textArray } from '../../platform/db/array.ts';
import { bigint, insertRows, json, rowsOf, text, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, type Sql, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** What a carrier sent for an account that is not served in this database. */
export type NewPassedOn = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly kind: 'receipt' | 'inbound';
  /** JSON, as the feature that it is for reads it. */
  readonly content: string;
};

/** Keeps what a carrier sent until a worker has passed it on to the cell of the account (`operations/account-move`). */
export async function insertPassedOn(db: Db, rows: readonly NewPassedOn[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(db, insertRows('passed_on', rows, { accountId: bigint, connectionId: bigint, kind: text, content: json }));
}

const PASSED_ON = columns({
  id: as<string>('p.id'),
  connection: as<string>('c.name'),
  kind: as<NewPassedOn['kind']>('p.kind'),
  content: as<string>('p.content::text'),
});
/** What is to be passed on, with the name of the connection that it came over. */
export type PassedOn = RowOf<typeof PASSED_ON>;

/** Of accounts that have left for `cell`; null: of accounts that are served in this database, or are back in it. */
const isFor = (cell: number | null): Sql => sql`CASE WHEN ${cell}::smallint IS NULL
  THEN NOT EXISTS (SELECT FROM account_move v WHERE v.account_id = p.account_id)
  ELSE EXISTS (SELECT FROM account_move v
               WHERE v.account_id = p.account_id AND v.state = 'left' AND v.cell = ${cell}) END`;

/**
 * Locks the oldest `limit` rows, until the transaction ends, that came over one of these connections, for accounts that have
 * left for `cell`; null: for accounts that are served in this database, because they did not leave, or are back.
 */
export const claimPassedOn = (
  db: Db,
  { cell, connections, limit }: { cell: number | null; connections: readonly string[]; limit: number },
): Promise<PassedOn[]> =>
  many(
    db,
    sql`SELECT ${PASSED_ON} FROM passed_on p JOIN connection c ON c.id = p.connection_id
        WHERE c.name = ANY(${textArray(connections)}::text[]) AND ${isFor(cell)}
        ORDER BY p.id LIMIT ${limit} FOR UPDATE OF p SKIP LOCKED`,
  );

/** Lists what else rows came over: names, or ids of connections that were removed meanwhile. */
export const listUnknownConnections = async (
  db: Db,
  { cell, connections }: { cell: number | null; connections: readonly string[] },
): Promise<string[]> => {
  const rows = await many<{ name: string }>(
    db,
    sql`SELECT DISTINCT coalesce(c.name, 'the removed connection ' || p.connection_id) AS name
        FROM passed_on p LEFT JOIN connection c ON c.id = p.connection_id
        WHERE (c.name = ANY(${textArray(connections)}::text[])) IS NOT TRUE AND ${isFor(cell)} ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

export const deletePassedOn = (db: Db, { ids }: { ids: readonly string[] }): Promise<number> =>
  exec(db, sql`DELETE FROM passed_on WHERE id = ANY(${ids}::uuid[])`);

/** Remembers that these were taken here. Returns the ids that were not before. */
export async function insertSeenIds(db: Db, { ids }: { ids: readonly string[] }): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`INSERT INTO passed_on_seen (id) SELECT u.id FROM ${rowsOf(ids, { id: uuid((id) => id) })} AS u
        ON CONFLICT DO NOTHING RETURNING id`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Forgets what was taken more than `days` ago. */
export const deleteOldSeenIds = (db: Db, { days }: { days: number }): Promise<number> =>
  exec(db, sql`DELETE FROM passed_on_seen WHERE at < now() - ${days} * interval '1 day'`);

/** Whether there is anything to pass on, of one account or (null) of any. */
export const hasPassedOn = async (db: Db, { accountId }: { accountId: number | null }): Promise<boolean> =>
  (await many(db, sql`SELECT FROM passed_on WHERE ${accountId}::bigint IS NULL OR account_id = ${accountId} LIMIT 1`))
    .length > 0;
