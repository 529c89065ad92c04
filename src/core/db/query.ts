import pg, { type QueryResult, type QueryResultRow } from 'pg';
import { foldText } from '../fold.ts';
import { StartupError } from './startup-error.ts';
import { compose, join, raw, type Sql } from './statements.ts';

export { join, raw, type Sql } from './statements.ts';

declare const ROW: unique symbol;

/** A select list made by `columns`: a part of a statement that also carries the type `R` of the statement's rows. */
export type Columns<R> = Sql & { readonly names: readonly (keyof R & string)[] };

/**
 * A statement and the type of its rows. With `never`, the statement does not define it and the caller names the type.
 */
export type Query<R = never> = Sql & { readonly [ROW]?: R };

type RowsIn<V extends readonly unknown[]> = V extends readonly [infer First, ...infer Rest]
  ? First extends Columns<infer R>
    ? R & RowsIn<Rest>
    : RowsIn<Rest>
  : unknown;
type RowOfValues<V extends readonly unknown[]> = unknown extends RowsIn<V> ? never : RowsIn<V>;

/**
 * Builds a statement from a tagged template: values become parameters, nested statements become part of the text. A
 * select list made by `columns` also sets the row type; with several lists the row type is their intersection.
 */
export function sql<V extends readonly unknown[]>(strings: readonly string[], ...values: V): Query<RowOfValues<V>> {
  return compose(strings, values);
}

/**
 * Puts a number into the text of a statement instead of passing it as a parameter: PostgreSQL matches the condition of
 * a partial index only against a constant.
 */
export const constant = (value: number): Sql => raw(String(value));

/**
 * A statement in the form that the driver takes. With a name it is a prepared statement: the server keeps it parsed,
 * and also planned once its generic plan proves good enough.
 */
export type Statement = { text: string; values: unknown[]; name?: string; rowMode?: 'array' };

/**
 * An executor of SQL: the pool, or one client inside a transaction. Every SQL function and operation takes it as its
 * first argument and never creates one itself.
 */
export type Db = {
  query<R extends QueryResultRow>(query: Statement): Promise<QueryResult<R>>;
};

/** Runs a statement and returns all its rows as objects. */
export async function many<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R[]> {
  const { rows } = await db.query<R>(statementOf(query));
  return rows;
}

/**
 * Runs a statement and returns its rows as tuples, in the order of the select list. For hot batches: 1,000 rows of 12
 * columns take 6 % less CPU time than with `many`, and callers destructure the tuple in one place.
 */
export async function tuples<T extends unknown[]>(db: Db, query: Sql): Promise<T[]> {
  const { rows } = await db.query<T>({ ...statementOf(query), rowMode: 'array' });
  return rows;
}

/**
 * Runs a statement and returns its only row, or undefined if there is none. Throws if there are several: that is a
 * missing WHERE, never a user's mistake.
 */
export async function maybeOne<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R | undefined> {
  const rows = await many<R>(db, query);
  if (rows.length > 1) throw new Error(`expected at most one row, got ${rows.length}`);
  return rows[0];
}

/** Runs a statement that returns exactly one row, and returns that row. Throws if there is none or several. */
export async function one<R extends QueryResultRow>(db: Db, query: Query<R>): Promise<R> {
  const row = await maybeOne<R>(db, query);
  if (row === undefined) throw new Error('expected one row, got none');
  return row;
}

/** Counts the rows of a FROM clause with its conditions: `countRows(db, sql`FROM route WHERE …`)`. */
export async function countRows(db: Db, from: Sql): Promise<number> {
  const { total } = await one<{ total: number }>(db, sql`SELECT count(*) AS total ${from}`);
  return total;
}

/** A list that is read by pages: the columns of its rows, the FROM clause with all conditions, and their order. */
type PagedList<R> = { readonly columns: Columns<R> | Sql; readonly from: Sql; readonly order: Sql };

/** A page of rows, and the exact number of rows on all pages. */
export type RowsOfPage<R> = { readonly rows: R[]; readonly total: number };

/** The number of a page, counted from 0, and the number of its rows. */
export type Paging = { readonly page: number; readonly limit: number };

/** Reads a page of a list, and counts all of its rows. */
export async function pageRows<R extends QueryResultRow>(
  db: Db,
  { columns: list, from, order }: PagedList<R>,
  { page, limit }: Paging,
): Promise<RowsOfPage<R>> {
  const [rows, total] = await Promise.all([
    many<R>(db, sql`SELECT ${list} ${from} ORDER BY ${order} LIMIT ${limit} OFFSET ${page * limit}`),
    countRows(db, from),
  ]);
  return { rows, total };
}

/** Runs a statement and returns the number of rows that it affected. */
export async function exec(db: Db, query: Sql): Promise<number> {
  const { rowCount } = await db.query(statementOf(query));
  return rowCount ?? 0;
}

/**
 * Names of prepared statements by their text. A batch's text varies only with which of its columns hold one value; the
 * cap guards against a text that varies without bound.
 */
const names = new Map<string, string>();
const MAX_NAMES = 300;

/**
 * Marks a statement that has only one sensible plan (an insert, a lookup by key), so that each connection parses and
 * plans it once. Single sends arrive in batches of 25 rows, and planning was a third of PostgreSQL's work for them.
 * Never use it for a join of a batch with a table: that needs a plan for its rows.
 */
export function onePlan<Q extends Sql>(query: Q): Q {
  query.hasOnePlan = true;
  return query;
}

function statementOf({ shape, values, hasOnePlan }: Sql): Statement {
  const { text } = shape;
  if (!hasOnePlan) return { text, values };
  if (!names.has(text) && names.size < MAX_NAMES) names.set(text, `h${names.size}`);
  const name = names.get(text);
  return name === undefined ? { text, values } : { text, values, name };
}

declare const TYPE: unique symbol;

/** An expression of a select list, with the type of the values that the driver returns for it. */
type Column<T> = { readonly expression: string | Sql; readonly [TYPE]?: T };

type RowOfColumns<C> = { -readonly [K in keyof C]: C[K] extends Column<infer T> ? T : never };

/** The row type of a select list: `type Route = RowOf<typeof ROUTE>`. */
export type RowOf<C> = C extends Columns<infer R> ? R : never;

/**
 * Declares one column of a select list: its expression, as SQL text or (with parameters) as a statement, and the type
 * of the values that the driver returns for it.
 */
export const as = <T>(expression: string | Sql): Column<T> => ({ expression });

/**
 * Builds a select list in which the name, the expression and the type of each column are in one place, so that the SQL
 * and the row type cannot drift apart:
 *
 * const ROUTE = columns({ id: as<number>('r.id'), connectionId: as<number>('r.connection_id') }); type Route =
 * RowOf<typeof ROUTE>; const routes = await many(db, sql`SELECT ${ROUTE} FROM route r`);
 */
export function columns<C extends Readonly<Record<string, Column<unknown>>>>(list: C): Columns<RowOfColumns<C>> {
  const items = Object.entries(list).map(([name, { expression }]) => {
    const value = typeof expression === 'string' ? raw(expression) : expression;
    return sql`${value} AS ${raw(`"${name}"`)}`;
  });
  return Object.assign(join(items), { names: Object.keys(list) }) as unknown as Columns<RowOfColumns<C>>;
}

/**
 * A value of an array parameter for unnest(). The arrays are written as PostgreSQL array literals here, since the
 * driver's own conversion costs about a microsecond per element, too much for a batch of 1,000 rows and ten columns.
 */
type Scalar = string | number | boolean | null;

/** Writes an array of ids, numbers, booleans or ISO dates, none of which needs quoting. */
export const plainArray = (values: readonly Scalar[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;

const NEEDS_ESCAPE = /["\\]/;
const quote = (text: string): string => `"${NEEDS_ESCAPE.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;

/**
 * Writes an array of any texts, quotes and backslashes included. PostgreSQL has no NUL, so callers must reject it
 * before.
 */
export const textArray = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : quote(value))).join(',')}}`;

/**
 * Writes a statement as one text with its values as literals, for COPY, which takes no parameters. Accepts texts
 * (escaped by the driver), numbers, booleans and null; throws a TypeError for any other value.
 */
export const inlineValues = ({ shape, values }: Sql): string =>
  shape.strings.reduce((text, piece, i) => text + literalOf(values[i - 1]) + piece);

function literalOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  if (typeof value === 'string') return pg.escapeLiteral(value);
  throw new TypeError(`a ${typeof value} cannot be written as a literal`);
}

/** Returns a LIKE pattern that matches values of `fold_text` that contain this text as people type it. */
export const containsPattern = (text: string): string => `%${foldText(text).replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Makes sure that the extension pg_trgm, by which contacts and conversations are searched, is installed and that this
 * session finds it: managed services install extensions into a separate schema. Statements need no such path, because
 * the indexes know their operators.
 *
 * Throws a StartupError with the statement to run if the user lacks the rights or the service does not offer it.
 */
export async function ensureTrigrams(session: Db): Promise<void> {
  const found = await maybeOne<Extension>(session, FIND);
  const { schema, user, mayUse } = found ?? (await create(session));
  if (!mayUse)
    throw new StartupError(
      `PostgreSQL does not allow ${user} to use the schema ${schema}, which contains the extension pg_trgm. ` +
        `Run this once as its administrator, then start again:  GRANT USAGE ON SCHEMA ${schema} TO ${user};`,
    );
  await exec(
    session,
    sql`SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), ${schema}::text), false)`,
  );
}

type Extension = { schema: string; user: string; mayUse: boolean };

const FIND = sql`
  SELECT quote_ident(n.nspname) AS schema, quote_ident(current_user) AS user,
         has_schema_privilege(n.oid, 'USAGE') AS "mayUse"
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'`;

async function create(session: Db): Promise<Extension> {
  try {
    await exec(session, sql`CREATE EXTENSION pg_trgm`);
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    throw new StartupError(
      `The extension pg_trgm, which searches contacts, could not be installed (${cause.message}). ` +
        'Run this once in the database as an administrator, then start again:  CREATE EXTENSION pg_trgm;',
      { cause },
    );
  }
  return one<Extension>(session, FIND);
}

/**
 * Returns the SQL expression of the time at which an id was created, which `timeOfId` reads outside the database. It is
 * written out because `uuid_extract_timestamp` is too new: PostgreSQL 16 lacks it, and that of 17 does not support
 * UUIDv7.
 */
export const timeOf = (id: Sql): Sql =>
  sql`to_timestamp(('x' || translate(left(${id}::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`;
