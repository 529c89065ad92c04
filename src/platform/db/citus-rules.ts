import { type Db, many, sql } from './query.ts';

/**
 * Checks that the schema keeps to what Citus, which distributes PostgreSQL over several machines, can distribute. The
 * comment of each table states how it would be distributed: 'reference' (a copy on every node), 'distributed' (by
 * account_id) or 'local' (on the coordinator). Returns one sentence per violation, an empty list if there is none. The
 * rules:
 *
 * - every table has such a comment;
 * - a distributed table has account_id NOT NULL, first in its primary key and part of every unique index and exclusion
 *   constraint, and no triggers;
 * - a foreign key between distributed tables pairs account_id with account_id; other foreign keys refer to a reference
 *   table, or are between local tables.
 *
 * Partitions follow their table and are not checked.
 */
export async function checkCitusRules(db: Db): Promise<string[]> {
  return [
    ...(await checkComments(db)),
    ...(await checkAccountColumn(db)),
    ...(await checkUniqueIndexes(db)),
    ...(await checkTriggers(db)),
    ...(await checkForeignKeys(db)),
  ];
}

const isDistributed = sql`obj_description(c.oid, 'pg_class') = 'distributed'`;
const isOurTable = sql`c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;

async function checkComments(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; comment: string | null }>(
    db,
    sql`SELECT c.relname AS name, obj_description(c.oid, 'pg_class') AS comment
          FROM pg_class c
         WHERE ${isOurTable}
           AND coalesce(obj_description(c.oid, 'pg_class') NOT IN ('reference', 'distributed', 'local'), true)
         ORDER BY 1`,
  );
  return rows.map(
    ({ name, comment }) =>
      `${name}: needs COMMENT ON TABLE ${name} IS 'reference', 'distributed' or 'local', and has ${comment === null ? 'none' : `'${comment}'`}`,
  );
}

async function checkAccountColumn(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; not_null: boolean | null; leads_key: boolean | null }>(
    db,
    sql`SELECT c.relname AS name, a.attnotnull AS not_null, i.indkey[0] = a.attnum AS leads_key
          FROM pg_class c
          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
          LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE ${isOurTable} AND ${isDistributed}
         ORDER BY 1`,
  );
  return rows.flatMap(({ name, not_null, leads_key }) => {
    if (not_null !== true) return [`${name}: is distributed and needs a column account_id NOT NULL`];
    return leads_key === true ? [] : [`${name}: is distributed and needs a primary key that begins with account_id`];
  });
}

async function checkUniqueIndexes(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; index: string }>(
    db,
    sql`SELECT c.relname AS name, i.indexrelid::regclass::text AS index
          FROM pg_class c
          JOIN pg_index i ON i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion) AND NOT i.indisprimary
         WHERE ${isOurTable} AND ${isDistributed}
           AND NOT EXISTS (SELECT FROM pg_attribute a
                            WHERE a.attrelid = i.indexrelid AND a.attname = 'account_id' AND a.attnum <= i.indnkeyatts)
         ORDER BY 1, 2`,
  );
  return rows.map(({ name, index }) => `${name}: is distributed, so the unique index ${index} must contain account_id`);
}

async function checkTriggers(db: Db): Promise<string[]> {
  const rows = await many<{ name: string; trigger: string }>(
    db,
    sql`SELECT c.relname AS name, t.tgname AS trigger
          FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
         WHERE ${isOurTable} AND ${isDistributed}
         ORDER BY 1, 2`,
  );
  return rows.map(({ name, trigger }) => `${name}: is distributed and cannot have the trigger ${trigger}`);
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
  if (to === 'reference' || (from === 'local' && to === 'local')) return undefined;
  if (from !== to) return `${which} refers from a ${from} table to the ${to} table ${target}, which Citus cannot check`;
  return pairs_account
    ? undefined
    : `${which} between distributed tables must pair account_id with account_id of ${target}`;
}
