import { CURRENT_SCHEMA } from '../src/core/db/migrate.ts';
import { type Db, many, type Sql, sql } from '../src/core/db/query.ts';
import { TENANT_ROLE } from '../src/core/db/transaction.ts';

/**
 * Lists what is wrong with the tables of the current schema, one sentence each; nothing when all is well.
 *
 * Kinds (docs/decisions/0039-cells-and-their-directory.md): each table says in its comment what becomes of its rows when
 * an account moves: 'facts' (they move with it), 'queue' (work in progress, drained) or 'shared'. Facts have account_id NOT
 * NULL, first in the primary key and part of every unique index, and no triggers. A foreign key leads to a shared table,
 * from a queue to a queue, or from facts to facts with account_id in both.
 *
 * The second wall between accounts (docs/decisions/0010-two-walls.md): a table with account_id has one policy, which compares
 * it with app.account_id, and the tenant role may read it. Of other tables that role may read columns that were granted by
 * name, and of partitions nothing. Views of accounts read with the rights of who reads.
 */
export async function listSchemaFaults(db: Db): Promise<string[]> {
  const faults = await many<{ fault: string }>(db, FAULTS);
  return faults.map(({ fault }) => fault);
}

/** The condition as PostgreSQL writes it. */
const OWN_ACCOUNT = "(account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)";

const ours = sql`c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;
const kind = (table: Sql): Sql => sql`coalesce(obj_description(${table}.oid, 'pg_class'), '')`;
const facts = sql`${ours} AND ${kind(sql`c`)} = 'facts'`;
const account = (table: Sql): Sql =>
  sql`(SELECT attnum FROM pg_attribute WHERE attrelid = ${table}.oid AND attname = 'account_id' AND NOT attisdropped)`;

const FAULTS = sql`
  SELECT c.relname || ': needs COMMENT ON TABLE … IS ''facts'', ''queue'' or ''shared''' AS fault
    FROM pg_class c WHERE ${ours} AND ${kind(sql`c`)} NOT IN ('facts', 'queue', 'shared')
  UNION ALL
  SELECT c.relname || ': holds facts and needs account_id NOT NULL, first in its primary key'
    FROM pg_class c WHERE ${facts} AND NOT EXISTS (
      SELECT FROM pg_attribute a JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary AND i.indkey[0] = a.attnum
       WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND a.attnotnull)
  UNION ALL
  SELECT c.relname || ': holds facts, so the unique index ' || i.indexrelid::regclass || ' must contain account_id'
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion) AND NOT i.indisprimary
   WHERE ${facts} AND NOT EXISTS (
      SELECT FROM pg_attribute a WHERE a.attrelid = i.indexrelid AND a.attname = 'account_id' AND a.attnum <= i.indnkeyatts)
  UNION ALL
  SELECT c.relname || ': holds facts and cannot have the trigger ' || t.tgname
    FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal WHERE ${facts}
  UNION ALL
  SELECT c.relname || ': the foreign key ' || k.conname || ' leads to ' || o.relname || ', which is of another kind or account'
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid
   WHERE k.contype = 'f' AND k.conparentid = 0 AND ${ours} AND ${kind(sql`o`)} <> 'shared'
     AND NOT (${kind(sql`c`)} = 'queue' AND ${kind(sql`o`)} = 'queue')
     AND NOT (${kind(sql`c`)} = 'facts' AND ${kind(sql`o`)} = 'facts' AND EXISTS (
           SELECT FROM unnest(k.conkey, k.confkey) AS pair (own, other)
            WHERE pair.own = ${account(sql`c`)} AND pair.other = ${account(sql`o`)}))
  UNION ALL
  SELECT c.relname || ': has account_id and needs, in its migration: a grant to ' || ${TENANT_ROLE} || ', row-level security, '
         || 'and one policy for all commands: CREATE POLICY tenant ON … USING (account_id = NULLIF(current_setting(''app.account_id'', true), '''')::bigint)'
    FROM pg_class c
   WHERE c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
     AND ${account(sql`c`)} IS NOT NULL
     AND NOT (c.relkind = 'v' AND coalesce('security_invoker=true' = ANY (c.reloptions), false))
     AND NOT (c.relrowsecurity AND has_table_privilege(${TENANT_ROLE}, c.oid, 'SELECT')
              AND ARRAY (SELECT polcmd::text || coalesce(pg_get_expr(polqual, polrelid), '') || coalesce(pg_get_expr(polwithcheck, polrelid), '')
                           FROM pg_policy WHERE polrelid = c.oid AND polpermissive) = ARRAY [${`*${OWN_ACCOUNT}`}])
  UNION ALL
  SELECT c.relname || ': the tenant role may use it, but it is a partition, or has no account_id and no policy'
    FROM pg_class c
   WHERE c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
     AND (c.relispartition OR ${account(sql`c`)} IS NULL)
     AND NOT (c.relkind = 'v' AND coalesce('security_invoker=true' = ANY (c.reloptions), false))
     AND has_table_privilege(${TENANT_ROLE}, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
     AND (c.relispartition OR NOT c.relrowsecurity OR 1 <> (SELECT count(*) FROM pg_policy
             WHERE polrelid = c.oid AND polcmd = '*' AND polpermissive AND polwithcheck IS NULL))
  ORDER BY 1`;
