import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from, to } from 'pg-copy-streams';
import { inlineValues } from '../../platform/db/inlined.ts';
import { type Db, exec, join, many, one, raw, type Sql, sql } from '../../platform/db/query.ts';
import type { OwnRows } from './tables.ts';

/** The id in the target of each connection of the source. */
export type ConnectionIds = ReadonlyMap<number, number>;

/** Which rows to read, and of which account. */
export type Reading = { readonly table: string; readonly rows: OwnRows; readonly accountId: number };

/** A name as SQL writes it. */
export const quoted = (name: string): Sql => raw(`"${name}"`);
/** Names, separated by commas. */
export const listOf = (names: readonly string[]): Sql => join(names.map(quoted));

/** The condition for the rows of the account. */
export const own = ({ rows, accountId }: Reading): Sql => rows.where?.(accountId) ?? sql`account_id = ${accountId}`;

/** All rows of the account, as a subquery. */
const allOf = (reading: Reading): Sql => sql`(SELECT * FROM ${raw(reading.table)} WHERE ${own(reading)})`;

/** Lists the columns of a table that are stored, in their order. */
export async function listColumns(db: Db, table: string): Promise<string[]> {
  const columns = await many<{ name: string }>(
    db,
    sql`SELECT attname AS name FROM pg_attribute
        WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
  );
  return columns.map(({ name }) => name);
}

/** The value of a column as the target stores it. */
export function valueOf(column: string, { values = {} }: OwnRows, ids: ConnectionIds): Sql {
  const expression = values[column];
  if (expression !== undefined) return expression;
  if (column === 'connection_id') return translated(column, ids);
  if (column === 'alternates')
    return sql`ARRAY(SELECT ${translated('a.id', ids)} FROM unnest(alternates) WITH ORDINALITY AS a (id, n) ORDER BY a.n)`;
  return quoted(column);
}

const translated = (column: string, ids: ConnectionIds): Sql =>
  ids.size === 0
    ? raw(column)
    : raw(
        `CASE ${column} ${[...ids].map(([here, there]) => `WHEN ${here} THEN ${there}`).join(' ')} ELSE ${column} END`,
      );

/** Copies rows from a transaction on the source into one on the target. Both sessions may run nothing else meanwhile. */
export async function copyRows(source: Client, target: Client, reading: Reading, ids: ConnectionIds): Promise<void> {
  const { table, rows } = reading;
  const columns = await listColumns(source, table);
  const values = join(columns.map((column) => valueOf(column, rows, ids)));
  const query = inlineValues(sql`SELECT ${values} FROM ${raw(table)} WHERE ${own(reading)}`);
  await pipeline(
    source.query(to(`COPY (${query}) TO STDOUT`)),
    target.query(from(`COPY ${table} (${columns.map((column) => `"${column}"`).join(', ')}) FROM STDIN`)),
  );
}

const ROWS_PER_PARCEL = 200;

/**
 * Deletes rows in a transaction on the source, and keeps them in one on the target as parcels, each row as the text of a row
 * of the target's table. No row passes through memory but those on their way. Both sessions may run nothing else meanwhile.
 */
export async function carryRows(source: Client, target: Client, reading: Reading, ids: ConnectionIds): Promise<void> {
  const { table, rows, accountId } = reading;
  const columns = await many<{ name: string; generated: boolean }>(
    source,
    sql`SELECT attname AS name, attgenerated <> '' AS generated FROM pg_attribute
        WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
  );
  const values = join(columns.map(({ name, generated }) => (generated ? raw('NULL') : valueOf(name, rows, ids))));
  const query = inlineValues(
    sql`WITH gone AS (DELETE FROM ${raw(table)} WHERE ${own(reading)} RETURNING *), numbered AS (
          SELECT (ROW(${values})::${raw(table)})::text AS row,
                 row_number() OVER (ORDER BY ${raw(rows.order ?? 'NULL')}) - 1 AS n FROM gone)
        SELECT ${accountId}, ${table}, array_agg(row ORDER BY n) FROM numbered
        GROUP BY n / ${ROWS_PER_PARCEL} ORDER BY n / ${ROWS_PER_PARCEL}`,
  );
  await pipeline(
    source.query(to(`COPY (${query}) TO STDOUT`)),
    target.query(from('COPY account_parcel (account_id, table_name, rows) FROM STDIN')),
  );
}

/**
 * The first round of those that wait at each connection to which chunks arrive. Once for each, and not for each chunk: it is
 * found behind all those that wait for their time.
 */
const FIRST_ROUNDS = sql`first AS MATERIALIZED (
    SELECT k.connection_id, k.priority,
           (SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = k.connection_id
              AND q.priority = k.priority AND q.owner IS NULL AND q.available_at <= now()) AS round
    FROM (SELECT DISTINCT (m.r).connection_id, (m.r).priority FROM m) AS k)`;

/**
 * Where an arriving chunk stands in the queue of its connection: with the first of those that wait there, and after the
 * chunks that arrive before it.
 */
const ROUND = sql`coalesce((SELECT f.round FROM first f WHERE f.connection_id = (m.r).connection_id
      AND f.priority = (m.r).priority), 0)
    + sum((m.r).size) OVER (PARTITION BY (m.r).connection_id, (m.r).priority ORDER BY m.n) - (m.r).size`;

/**
 * Inserts the rows of a table that have arrived with an account, in their order. Columns that are renewed get values of this
 * database. In one statement: the turns of chunks follow one another over all parcels.
 */
export async function putRows(db: Db, { table, rows, accountId }: Reading): Promise<number> {
  const renewed = rows.renewed ?? [];
  const columns = (await listColumns(db, table)).filter((column) => !renewed.includes(column));
  const isQueued = renewed.includes('round');
  const values = [...columns.map((column) => sql`(m.r).${quoted(column)}`), ...(isQueued ? [ROUND] : [])];
  return exec(
    db,
    sql`WITH m AS MATERIALIZED (
          SELECT x.r::${raw(table)} AS r, row_number() OVER (ORDER BY p.id, x.n) AS n
          FROM account_parcel p CROSS JOIN unnest(p.rows) WITH ORDINALITY AS x (r, n)
          WHERE p.account_id = ${accountId} AND p.table_name = ${table})${isQueued ? sql`, ${FIRST_ROUNDS}` : sql``}
        INSERT INTO ${raw(table)} (${listOf([...columns, ...(isQueued ? ['round'] : [])])}) OVERRIDING SYSTEM VALUE
        SELECT ${join(values)} FROM m ORDER BY m.n`,
  );
}

/** Deletes rows; returns their number. */
export const deleteRows = (db: Db, reading: Reading): Promise<number> =>
  exec(db, sql`DELETE FROM ${raw(reading.table)} WHERE ${own(reading)}`);

/** A column of the primary key of a table, with its type as SQL writes it. */
export type KeyColumn = { readonly name: string; readonly type: string };

/** Lists the columns of the primary key of a table. */
const listKey = (db: Db, table: string): Promise<KeyColumn[]> =>
  many(
    db,
    sql`SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        WHERE i.indrelid = ${table}::regclass AND i.indisprimary ORDER BY a.attnum`,
  );

/** The columns by which the rows of an account are told apart. */
export const listKeyOfRows = async (db: Db, table: string): Promise<KeyColumn[]> =>
  (await listKey(db, table)).filter(({ name }) => name !== 'account_id');

/** The number of rows, and a sum over their keys. */
export type Fingerprint = { readonly count: number; readonly keys: string };

/**
 * Returns what must be equal in source and target once rows are copied. The ids of connections differ by cell.
 *
 * @param part which rows, as a subquery; by default all of the account
 */
export async function fingerprint(db: Db, reading: Reading, part: Sql = allOf(reading)): Promise<Fingerprint> {
  const key = (await listKey(db, reading.table)).map(({ name }) => name).filter((name) => name !== 'connection_id');
  return one<Fingerprint>(
    db,
    sql`SELECT count(*) AS count,
               coalesce(sum(hashtextextended(ROW(${listOf(key)})::text, 0)::numeric), 0)::text AS keys
        FROM ${part} AS t`,
  );
}

/** Returns how many rows there are, and the octets that they take in memory. */
export const measureRows = (db: Db, reading: Reading): Promise<{ count: number; octets: number }> =>
  one(
    db,
    sql`SELECT count(*) AS count, coalesce(sum(pg_column_size(t.*)), 0)::bigint AS octets
        FROM ${raw(reading.table)} AS t WHERE ${own(reading)}`,
  );
