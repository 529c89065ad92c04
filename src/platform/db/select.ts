import { join, raw, Sql } from 'sql-template-tag';
import type { Columns } from './query.ts';

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
    return new Sql(['', ` AS "${name}"`], [value]);
  });
  const { strings, values } = join(items);
  return Object.assign(new Sql(strings, values), { names: Object.keys(list) }) as Columns<RowOfColumns<C>>;
}
