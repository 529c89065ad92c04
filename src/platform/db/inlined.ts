import pg from 'pg';
import type { Sql } from './query.ts';

/**
 * Writes a statement as one text with its values as literals, for COPY, which takes no parameters. Accepts texts
 * (escaped by the driver), numbers, booleans and null; throws a TypeError for any other value.
 */
export const inlineValues = ({ strings, values }: Sql): string =>
  strings.reduce((text, piece, i) => text + literalOf(values[i - 1]) + piece);

function literalOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  if (typeof value === 'string') return pg.escapeLiteral(value);
  throw new TypeError(`a ${typeof value} cannot be written as a literal`);
}
