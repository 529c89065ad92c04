import type { QueryResult, QueryResultRow } from 'pg';
import { raw, Sql } from 'sql-template-tag';

export { join, raw, type Sql } from 'sql-template-tag';

declare const ROW: unique symbol;

/** A select list (see `columns`): part of a statement, and the type of its rows. */
export type Columns<R> = Sql & { readonly names: readonly (keyof R & string)[] };

/** A statement and the type of its rows. `never`: the statement does not say, and the caller names the type. */
export type Query<R = never> = Sql & { readonly [ROW]?: R };

type RowsIn<V extends readonly unknown[]> = V extends readonly [infer First, ...infer Rest]
  ? First extends Columns<infer R>
    ? R & RowsIn<Rest>
    : RowsIn<Rest>
  : unknown;
type RowOfValues<V extends readonly unknown[]> = unknown extends RowsIn<V> ? never : RowsIn<V>;

/**
 * A statement as a tagged template: values become parameters, and other statements become part of the text. Where a
 * select list made by `columns` is among them, it is also the type of the rows.
 */
export function sql<V extends readonly unknown[]>(strings: readonly string[], ...values: V): Query<RowOfValues<V>> {
  return new Sql(strings, values);
}

/** A number as part of the text, not as a parameter: PostgreSQL uses a partial index only for a constant. */
export const constant = (value: number): Sql => raw(String(value));

/** What a connection is given: with a name the server keeps it parsed, and planned once its plan proves general. */
export type Statement = { text: string; values: unknown[]; name?: string; rowMode?: 'array' };

/**
 * Where SQL runs: the pool, or one client inside a transaction. Every SQL function and verb takes it as its first
 * argument and never makes one up.
 */
export type Db = {
  query<R extends QueryResultRow>(query: Statement): Promise<QueryResult<R>>;
};

/** All rows. */
export async function many<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R[]> {
  return (await db.query<R>(statementOf(query))).rows;
}

/**
 * All rows as tuples, in the order of the select list. For batches: an object with a dozen names takes the driver
 * several times as long as its values do.
 */
export async function tuples<T extends unknown[]>(db: Db, query: Sql): Promise<T[]> {
  const { rows } = await db.query<T>({ ...statementOf(query), rowMode: 'array' });
  return rows;
}

/** The one row, or undefined; throws when there are several (a missing WHERE, not a user's mistake). */
export async function maybeOne<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R | undefined> {
  const rows = await many<R>(db, query);
  if (rows.length > 1) throw new Error(`expected at most one row, got ${rows.length}`);
  return rows[0];
}

/** Exactly one row; throws otherwise. */
export async function one<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R> {
  const row = await maybeOne<R>(db, query);
  if (row === undefined) throw new Error('expected one row, got none');
  return row;
}

/** Runs a statement; returns how many rows it touched. */
export async function exec(db: Db, query: Sql): Promise<number> {
  return (await db.query(statementOf(query))).rowCount ?? 0;
}

const prepared = new WeakSet<Sql>();
/** Names by text. Texts vary only with which columns of a batch are equal; the cap is against one that varies freely. */
const names = new Map<string, string>();
const MAX_NAMES = 300;

/**
 * Marks a statement that has only one sensible plan (an insert, a look-up by key): each connection parses and plans it
 * once. Single sends come in batches of 25 rows, and planning was a third of PostgreSQL's work for them. Never for a
 * join of a batch with a table: its plan must be made for the rows at hand.
 */
export function onePlan<Q extends Sql>(query: Q): Q {
  prepared.add(query);
  return query;
}

function statementOf(query: Sql): Statement {
  const { text, values } = query;
  if (!prepared.has(query)) return { text, values };
  if (!names.has(text) && names.size < MAX_NAMES) names.set(text, `h${names.size}`);
  const name = names.get(text);
  return name === undefined ? { text, values } : { text, values, name };
}
