import { CURRENT_SCHEMA } from './current-schema.ts';
import { type Db, many, sql } from './query.ts';

/**
 * Checks that each table says in its comment what becomes of its rows when an account moves to another database, and that
 * its keys fit: 'facts' (the rows of an account, which move with it), 'queue' (work in progress, drained and never copied)
 * or 'shared' (used by all accounts, or copied row by row). Returns one sentence per violation, an empty list if there is
 * none. The rules:
 *
 * - every table has such a comment;
 * - a table of facts has account_id NOT NULL, first in its primary key and part of every unique index and exclusion
 *   constraint, so that its rows can be selected and replicated by account, and no triggers, which replication would not
 *   run;
 * - a foreign key between tables of facts pairs account_id with account_id; other foreign keys refer to a shared table, or
 *   are between queues.
 *
 * Partitions follow their table and are not checked.
 */
export async function checkTableKinds(db: Db): Promise<string[]> {
  return [
    ...(await checkComments(db)),
    ...(await checkAccountColumn(db)),
    ...(await checkUniqueIndexes(db)),
    ...(await checkTriggers(db)),
    ...(await checkForeignKeys(db)),
  ];
}

const holdsFacts = sql`obj_description(c.oid, 'pg_class') = 'facts'`;
const isOurTable = sql`c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;

async function checkComments(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; comment: string | null }>(
    db,
    sql`SELECT c.relname AS name, obj_description(c.oid, 'pg_class') AS comment
          FROM pg_class c
         WHERE ${isOurTable}
           AND coalesce(obj_description(c.oid, 'pg_class') NOT IN ('facts', 'queue', 'shared'), true)
         ORDER BY 1`,
  );
  return rows.map(
    ({ name, comment }) =>
      `${name}: needs COMMENT ON TABLE ${name} IS 'facts', 'queue' or 'shared', and has ${comment === null ? 'none' : `'${comment}'`}`,
  );
}

async function checkAccountColumn(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; not_null: boolean | null; leads_key: boolean | null }>(
    db,
    sql`SELECT c.relname AS name, a.attnotnull AS not_null, i.indkey[0] = a.attnum AS leads_key
          FROM pg_class c
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
          LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE ${isOurTable} AND ${holdsFacts}
         ORDER BY 1`,
  );
  return rows.flatMap(({ name, not_null, leads_key }) => {
    if (not_null !== true) return [`${name}: holds facts and needs a column account_id NOT NULL`];
    return leads_key === true ? [] : [`${name}: holds facts and needs a primary key that begins with account_id`];
  });
}

async function checkUniqueIndexes(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; index: string }>(
    db,
    sql`SELECT c.relname AS name, i.indexrelid::regclass::text AS index
          FROM pg_class c
          JOIN pg_index i ON i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion) AND NOT i.indisprimary
         WHERE ${isOurTable} AND ${holdsFacts}
           AND NOT EXISTS (SELECT FROM pg_attribute a
                            WHERE a.attrelid = i.indexrelid AND a.attname = 'account_id' AND a.attnum <= i.indnkeyatts)
         ORDER BY 1, 2`,
  );
  return rows.map(({ name, index }) => `${name}: holds facts, so the unique index ${index} must contain account_id`);
}

async function checkTriggers(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; trigger: string }>(
    db,
    sql`SELECT c.relname AS name, t.tgname AS trigger
          FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
         WHERE ${isOurTable} AND ${holdsFacts}
         ORDER BY 1, 2`,
  );
  return rows.map(({ name, trigger }) => `${name}: holds facts and cannot have the trigger ${trigger}`);
}

type ForeignKey = { name: string; key: string; target: string; from: string; to: string; pairs_account: boolean };

async function checkForeignKeys(db: Db): Promise<string[]> {
  const keys = await many<ForeignKey>(
    db,
    sql`SELECT c.relname AS name, k.conname AS key, target.relname AS target,
               coalesce(obj_description(c.oid, 'pg_class'), '') AS "from",
               coalesce(obj_description(target.oid, 'pg_class'), '') AS "to",
               EXISTS (SELECT FROM unnest(k.conkey, k.confkey) AS pair (own, other)
                         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = pair.own AND a.attname = 'account_id'
                         JOIN pg_attribute b ON b.attrelid = target.oid AND b.attnum = pair.other AND b.attname = 'account_id'
               ) AS pairs_account
          FROM pg_constraint k
          JOIN pg_class c ON c.oid = k.conrelid
          JOIN pg_class target ON target.oid = k.confrelid
         WHERE k.contype = 'f' AND k.conparentid = 0 AND ${isOurTable}
         ORDER BY 1, 2`,
  );
  return keys.flatMap((key) => foreignKeyViolation(key) ?? []);
}

function foreignKeyViolation({ name, key, target, from, to, pairs_account }: ForeignKey): string | undefined {
  const which = `${name}: the foreign key ${key}`;
  if (to === 'shared' || (from === 'queue' && to === 'queue')) return undefined;
  if (from !== to) return `${which} refers from a table of kind ${from} to ${target} of kind ${to}`;
  return pairs_account
    ? undefined
    : `${which} between tables of facts must pair account_id with account_id of ${target}`;
}
