import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from, to } from 'pg-copy-streams';
import { inlineValues } from '../../../platform/db/inlined.ts';
import { constant, exec, join, maybeOne, raw, type Sql, sql } from '../../../platform/db/query.ts';
import { compareRows, type Part } from '../compare.ts';
import {
  type ConnectionIds,
  type KeyColumn,
  listColumns,
  listKeyOfRows,
  listOf,
  own,
  quoted,
  type Reading,
  valueOf,
} from '../rows.ts';

/** The rows of an account in one table, and the run that notes which of them change. */
export type NotedReading = Reading & { readonly run: string };

/**
 * Copies the rows of a table whose changes were noted over an earlier copy of it, between two transactions as `copyRows` does:
 * only these are read, deleted and written. Does not delete the notes. Returns the number of copied rows. Throws when number or
 * keys of the noted rows differ then between source and target.
 */
export async function copyChanges(
  source: Client,
  target: Client,
  reading: NotedReading,
  ids: ConnectionIds,
): Promise<number> {
  const { table, rows } = reading;
  const key = await listKeyOfRows(source, table);
  const keys = nameOfKeys(table);
  await exec(
    target,
    sql`CREATE TEMPORARY TABLE ${keys} ON COMMIT DROP AS
        SELECT ${listOf(key.map(({ name }) => name))} FROM ${raw(table)} LIMIT 0`,
  );
  await pipeline(
    source.query(to(`COPY (${inlineValues(keysIn(reading, key))}) TO STDOUT`)),
    target.query(from(`COPY ${keys.sql} FROM STDIN`)),
  );
  // With 400 days of partitions, the statements below take half a second, most of it for their plans.
  if ((await maybeOne(target, sql`SELECT FROM ${keys} LIMIT 1`)) === undefined) return 0;
  await exec(target, sql`ANALYZE ${keys}`);
  // All before any is inserted: a row that was deleted and one that is new may have the same value in a unique index.
  await exec(target, sql`DELETE FROM ${raw(table)} t USING ${keys} n WHERE ${own(reading)} AND ${isKey(key)}`);
  const noted = notedRows(reading, key);
  const names = await listColumns(source, table);
  const values = join(names.map((column) => valueOf(column, rows, ids)));
  await pipeline(
    source.query(to(`COPY (${inlineValues(sql`SELECT ${values} FROM ${noted.source} AS t`)}) TO STDOUT`)),
    target.query(from(`COPY ${table} (${listOf(names).sql}) FROM STDIN`)),
  );
  return compareRows(source, target, reading, noted);
}

/** The rows of `copyChanges`, once it has copied them. */
export const findNoted = async (source: Client, reading: NotedReading): Promise<Part> =>
  notedRows(reading, await listKeyOfRows(source, reading.table));

const nameOfKeys = (table: string): Sql => quoted(`noted_${table}`);

/** The noted keys of a table in the source. */
const keysIn = ({ table, accountId, run }: NotedReading, key: readonly KeyColumn[]): Sql => {
  const columns = key.map(({ name, type }, i) => sql`key[${constant(i + 1)}]::${raw(type)} AS ${quoted(name)}`);
  return sql`SELECT DISTINCT ${join(columns)} FROM account_change
             WHERE account_id = ${accountId} AND run = ${run} AND table_name = ${table}`;
};

const isKey = (key: readonly KeyColumn[]): Sql =>
  join(
    key.map(({ name }) => sql`t.${quoted(name)} = n.${quoted(name)}`),
    ' AND ',
  );

/** Looks each key up in the index: a wrong estimate must not lead to a scan of the table. */
function notedRows(reading: NotedReading, key: readonly KeyColumn[]): Part {
  const rowsOf = (keys: Sql): Sql =>
    sql`(SELECT r.* FROM ${keys} AS n CROSS JOIN LATERAL (
           SELECT * FROM ${raw(reading.table)} AS t WHERE ${own(reading)} AND ${isKey(key)} LIMIT 1) AS r)`;
  return { source: rowsOf(sql`(${keysIn(reading, key)})`), target: rowsOf(nameOfKeys(reading.table)) };
}
