import { CURRENT_SCHEMA } from '../../../platform/db/current-schema.ts';
import { type Db, exec, many, raw, sql } from '../../../platform/db/query.ts';
import { type KeyColumn, listOf } from '../rows.ts';

/** Identifies the triggers and notes of one run of the command for an account: no other run has the same name. */
export type Notes = { readonly accountId: number; readonly run: string };

const PREFIX = 'note_change_';

/** What the names of all runs for an account begin with. */
export const runsOf = (accountId: number): string => `${PREFIX}${accountId}_`;

/** A table that holds rows: a table itself, or a partition of it. */
export type Leaf = { readonly table: string; readonly leaf: string };

/** Lists the leaves of these tables. */
export const listLeaves = (db: Db, { tables }: { tables: readonly string[] }): Promise<Leaf[]> =>
  many(
    db,
    sql`SELECT t.name AS "table", c.oid::regclass::text AS leaf
        FROM unnest(${tables}::text[]) AS t (name)
        JOIN pg_class c ON c.relkind = 'r' AND (c.oid = t.name::regclass
          OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = t.name::regclass))
        ORDER BY t.name, c.relname`,
  );

/** Has the changes of the rows of an account in one leaf noted, with two triggers. */
export const createTriggers = (
  tx: Db,
  { accountId, run }: Notes,
  { table, leaf }: Leaf,
  key: readonly KeyColumn[],
): Promise<number> => {
  const columns = key.map(({ name }) => name);
  const noting = (version: 'new' | 'old'): string =>
    `FOR EACH ROW WHEN (${version}.account_id = ${accountId})
       EXECUTE FUNCTION note_change('${version}', '${run}', '${table}', '${columns.join(',')}')`;
  return exec(
    tx,
    raw(`DO $$ BEGIN
      CREATE TRIGGER ${run}_new AFTER INSERT OR UPDATE ON ${leaf} ${noting('new')};
      CREATE TRIGGER ${run}_old AFTER DELETE OR UPDATE OF ${listOf(columns).sql} ON ${leaf} ${noting('old')};
    END $$`),
  );
};

/** The triggers of one leaf. */
export type LeafTriggers = { readonly leaf: string; readonly names: readonly string[] };

/** Lists the triggers of the runs whose names begin with `runs`. */
export const listTriggers = (db: Db, { runs }: { runs: string }): Promise<LeafTriggers[]> =>
  many(
    db,
    sql`SELECT g.tgrelid::regclass::text AS leaf, array_agg(g.tgname::text ORDER BY g.tgname) AS names
        FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = ${CURRENT_SCHEMA}
        WHERE starts_with(g.tgname, ${runs})
        GROUP BY g.tgrelid ORDER BY 1`,
  );

/** Drops the triggers of a leaf that are still there. */
export const dropTriggers = (tx: Db, { leaf, names }: LeafTriggers): Promise<number> =>
  exec(tx, raw(`DO $$ BEGIN ${names.map((name) => `DROP TRIGGER IF EXISTS ${name} ON ${leaf};`).join(' ')} END $$`));

/** Whether a leaf has rows of an account. */
export const hasRows = async (db: Db, { accountId }: { accountId: number }, leaf: string): Promise<boolean> =>
  (await many(db, sql`SELECT FROM ${raw(leaf)} WHERE account_id = ${accountId} LIMIT 1`)).length > 0;

/** Lists the accounts with triggers or notes. */
export async function listNotedAccounts(db: Db): Promise<number[]> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`SELECT substring(g.tgname FROM ${`^${PREFIX}([0-9]+)_`})::bigint AS "accountId"
        FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = ${CURRENT_SCHEMA}
        WHERE g.tgname ~ ${`^${PREFIX}[0-9]+_`}
        UNION
        SELECT account_id FROM account_change`,
  );
  return rows.map(({ accountId }) => accountId);
}

/** Deletes what the transaction sees of the notes of the runs whose names begin with `run`. */
export const deleteChanges = (db: Db, { accountId, run }: Notes): Promise<number> =>
  exec(db, sql`DELETE FROM account_change WHERE account_id = ${accountId} AND starts_with(run, ${run})`);
