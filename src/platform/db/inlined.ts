import pg from 'pg';
import type { Sql } from './query.ts';

/**
 * A statement as one text, its values as literals: for COPY, which takes no parameters. Values are texts, numbers, booleans
 * and null; texts are escaped by the driver.
 */
export const inlined = ({ strings, values }: Sql): string =>
  strings.reduce((text, piece, i) => text + literalOf(values[i - 1]) + piece);

function literalOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  if (typeof value === 'string') return pg.escapeLiteral(value);
  throw new TypeError(`a ${typeof value} cannot be written as a literal`);
}
