import pg from 'pg';
import { join, raw, type Sql, sql } from '../../../platform/db/query.ts';
import { E164, FORMULA_START, SEPARATOR_FIRST } from '../../../platform/lib/csv.ts';
import type { ExportFormat } from '../filters.ts';

/** Content of a column. `phone`: a phone number, or a name instead of it. `plain`: text that this program wrote. */
export type CellKind = 'text' | 'phone' | 'number' | 'plain';

/** A column of a file. */
export type Column = { readonly name: string; readonly kind: CellKind; readonly value: Sql };

/** The query of a file: its columns and its rows. */
export type RowQuery = {
  readonly columns: readonly Column[];
  /** FROM and WHERE. */
  readonly source: Sql;
  readonly order: Sql;
  /** FROM and WHERE for the same number of rows as `source`, cheaper where possible. */
  readonly countSource: Sql;
};

const SEPARATOR = String.raw`[;|\t\r\n]`;
const MARKED = String.raw`\1'\2`;
const MARKED_FIRST = String.raw`'\1`;

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula, as `csvLine` does. Nearly all texts
 * begin with a letter or a digit and have no separator, which costs a fraction of the whole expression to find out.
 */
const escapeFormula = (value: Sql): Sql => sql`CASE
  WHEN (ascii(${value}) BETWEEN 65 AND 122 OR ascii(${value}) BETWEEN 48 AND 57) AND ${value} !~ ${SEPARATOR} THEN ${value}
  ELSE regexp_replace(regexp_replace(${value}, ${FORMULA_START}, ${MARKED}, 'g'), ${SEPARATOR_FIRST}, ${MARKED_FIRST}) END`;

/** Formulas are escaped in CSV only: the cells of a workbook have types. */
function cellOf({ kind, value }: Column, format: ExportFormat): Sql {
  if (format === 'xlsx' || kind === 'number' || kind === 'plain') return value;
  if (kind === 'text') return escapeFormula(value);
  return sql`CASE WHEN ${value} ~ ${E164} THEN ${value} ELSE ${escapeFormula(value)} END`;
}

/** Builds the statement whose rows are those of a file in the given format. */
export function selectRows({ columns, source, order }: RowQuery, format: ExportFormat): Sql {
  const cells = columns.map((column) => sql`${cellOf(column, format)} AS ${raw(pg.escapeIdentifier(column.name))}`);
  return sql`SELECT ${join(cells)} ${source} ORDER BY ${order}`;
}

/** Formats an instant as in responses: ISO 8601 in UTC, to the millisecond. */
export const toIsoText = (value: Sql): Sql =>
  sql`to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
