import type { QueryResult, QueryResultRow } from 'pg';
import type { Sql } from 'sql-template-tag';

export { default as sql, join, raw, type Sql } from 'sql-template-tag';

/**
 * Where SQL runs: the pool, or one client inside a transaction. Every SQL function and verb takes it as its first
 * argument and never makes one up.
 */
export type Db = {
  query<R extends QueryResultRow>(query: { text: string; values: unknown[] }): Promise<QueryResult<R>>;
};

/** All rows. */
export async function many<R extends QueryResultRow>(db: Db, query: Sql): Promise<R[]> {
  return (await db.query<R>({ text: query.text, values: query.values })).rows;
}

/** The one row, or undefined; throws when there are several (a missing WHERE, not a user's mistake). */
export async function maybeOne<R extends QueryResultRow>(db: Db, query: Sql): Promise<R | undefined> {
  const rows = await many<R>(db, query);
  if (rows.length > 1) throw new Error(`expected at most one row, got ${rows.length}`);
  return rows[0];
}

/** Exactly one row; throws otherwise. */
export async function one<R extends QueryResultRow>(db: Db, query: Sql): Promise<R> {
  const row = await maybeOne<R>(db, query);
  if (row === undefined) throw new Error('expected one row, got none');
  return row;
}

/** Runs a statement; returns how many rows it touched. */
export async function exec(db: Db, query: Sql): Promise<number> {
  return (await db.query({ text: query.text, values: query.values })).rowCount ?? 0;
}
