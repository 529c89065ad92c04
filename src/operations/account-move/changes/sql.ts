import { CURRENT_SCHEMA } from '../../../platform/db/current-schema.ts';
import { type Db, exec, many, raw, sql } from '../../../platform/db/query.ts';
import type { KeyColumn } from '../rows.ts';

type AccountKey = { readonly accountId: number };

/**
 * That the changes of an account are noted since its triggers were created, whose names begin with `name`: no other run of the
 * command has the same.
 */
export type Notes = AccountKey & { readonly name: string };

/** The names of these triggers go on with the id of the account. */
export const TRIGGER_PREFIX = 'note_change_';

/** Lists the tables that hold the rows of these: a table itself, or its partitions. */
export const listLeaves = (
  db: Db,
  { tables }: { tables: readonly string[] },
): Promise<{ table: string; leaf: string }[]> =>
  many(
    db,
    sql`SELECT t.name AS "table", c.oid::regclass::text AS leaf
        FROM unnest(${tables}::text[]) WITH ORDINALITY AS t (name, n)
        JOIN pg_class c ON c.relkind = 'r' AND (c.oid = t.name::regclass
          OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = t.name::regclass))
        ORDER BY t.n, c.relname`,
  );

/** Has the changes of the rows of an account in one leaf of a table noted, with two triggers. */
export const createTriggers = (
  tx: Db,
  { accountId, name }: Notes,
  { table, leaf, key }: { table: string; leaf: string; key: readonly KeyColumn[] },
): Promise<number> => {
  const columns = key.map((column) => column.name);
  const noting = (version: 'new' | 'old'): string =>
    `FOR EACH ROW WHEN (${version}.account_id = ${accountId})
       EXECUTE FUNCTION note_change(${[version, table, columns.join(',')].map((text) => `'${text}'`).join(', ')})`;
  return exec(
    tx,
    raw(`DO $$ BEGIN
      CREATE TRIGGER ${name}_new AFTER INSERT OR UPDATE ON ${leaf} ${noting('new')};
      CREATE TRIGGER ${name}_old AFTER DELETE OR UPDATE OF ${columns.join(', ')} ON ${leaf} ${noting('old')};
    END $$`),
  );
};

/** Lists the triggers that note the changes of an account, or of any. */
export const listTriggers = (
  db: Db,
  { accountId }: { accountId: number | null },
): Promise<{ accountId: number; leaf: string; name: string }[]> =>
  many(
    db,
    sql`SELECT t.account_id AS "accountId", t.leaf, t.name
        FROM (SELECT split_part(g.tgname, '_', 3)::bigint AS account_id, g.tgrelid::regclass::text AS leaf, g.tgname AS name
              FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = ${CURRENT_SCHEMA}
              WHERE starts_with(g.tgname, ${TRIGGER_PREFIX})) AS t
        WHERE ${accountId}::bigint IS NULL OR t.account_id = ${accountId}
        ORDER BY t.leaf, t.name`,
  );

/** Drops a trigger, if it is still there. */
export const dropTrigger = (tx: Db, { leaf, name }: { leaf: string; name: string }): Promise<number> =>
  exec(tx, raw(`DROP TRIGGER IF EXISTS ${name} ON ${leaf}`));

/** Lists the leaves of these tables that lack triggers of these notes. */
export async function listUnnoted(
  db: Db,
  { name }: Notes,
  { tables }: { tables: readonly string[] },
): Promise<string[]> {
  const rows = await many<{ leaf: string }>(
    db,
    sql`SELECT c.oid::regclass::text AS leaf FROM pg_class c
        WHERE c.relkind = 'r' AND (c.oid = ANY (${tables}::regclass[])
          OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY (${tables}::regclass[])))
          AND (SELECT count(*) FROM pg_trigger g WHERE g.tgrelid = c.oid AND starts_with(g.tgname, ${`${name}_`})) < 2`,
  );
  return rows.map(({ leaf }) => leaf);
}

/** Whether a leaf has rows of an account. */
export const hasRows = async (db: Db, { accountId }: AccountKey, leaf: string): Promise<boolean> =>
  (await many(db, sql`SELECT FROM ${raw(leaf)} WHERE account_id = ${accountId} LIMIT 1`)).length > 0;

/** Lists the accounts of which changes have been noted. */
export async function listNotedAccounts(db: Db): Promise<number[]> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`SELECT DISTINCT account_id AS "accountId" FROM account_change`,
  );
  return rows.map(({ accountId }) => accountId);
}

/** Deletes what the transaction sees of the noted changes of an account. */
export const deleteChanges = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(db, sql`DELETE FROM account_change WHERE account_id = ${accountId}`);
