import pg from 'pg';
import { join, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { ExportFormat } from '../filters.ts';

/** What a column holds: `phone` a number or a name in its place, `plain` what we wrote ourselves. */
export type CellKind = 'text' | 'phone' | 'number' | 'plain';

/** A column of a file. */
export type Column = { readonly name: string; readonly kind: CellKind; readonly value: Sql };

/** A file's columns and the rows that they are of. */
export type Rows = {
  readonly columns: readonly Column[];
  /** FROM and WHERE. */
  readonly source: Sql;
  readonly order: Sql;
  /** As many rows as `source` has, by a cheaper way where there is one. */
  readonly counted: Sql;
};

/** As src/platform/lib/csv.ts has it; with every blank that JavaScript knows, whatever locale the database has. */
const BLANKS = String.raw`[\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*`;
const FORMULA = String.raw`^${BLANKS}[=+\-@＝＋－＠]|^[\t\r\n]`;
const E164 = String.raw`^\+\d{7,15}$`;

/** Letters and digits begin nearly all texts; looking at one character costs a tenth of the expression. */
const inert = (value: Sql): Sql => sql`CASE
  WHEN ascii(${value}) BETWEEN 65 AND 122 OR ascii(${value}) BETWEEN 48 AND 57 THEN ${value}
  WHEN ${value} ~ ${FORMULA} THEN '''' || ${value} ELSE ${value} END`;

/** In CSV what a spreadsheet would take for a formula gets an apostrophe; cells of a sheet have types and need none. */
function cellOf({ kind, value }: Column, format: ExportFormat): Sql {
  if (format === 'xlsx' || kind === 'number' || kind === 'plain') return value;
  return kind === 'text' ? inert(value) : sql`CASE WHEN ${value} ~ ${E164} THEN ${value} ELSE ${inert(value)} END`;
}

/** The rows as a file of this format has them. */
export function selectRows({ columns, source, order }: Rows, format: ExportFormat): Sql {
  const cells = columns.map((column) => sql`${cellOf(column, format)} AS ${raw(pg.escapeIdentifier(column.name))}`);
  return sql`SELECT ${join(cells)} ${source} ORDER BY ${order}`;
}

/** ISO 8601, to the millisecond, as answers have it. */
export const instant = (value: Sql): Sql => sql`to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
