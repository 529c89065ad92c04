import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { FieldError } from '../../../platform/errors.ts';
import type { FieldValue } from '../fields/values.ts';
import type { PhoneDetails } from '../../../platform/lib/phone-details.ts';

/** A row that can become a contact: its cells, in the order of the columns, hold values in the form of contacts. */
export type GoodRow = {
  readonly line: number;
  readonly cells: readonly (FieldValue | null)[];
  readonly phone: PhoneDetails;
};
/** A row that cannot, as the file has it. */
export type BadRow = {
  readonly line: number;
  readonly cells: readonly string[];
  readonly faults: readonly FieldError[];
};
/** A row whose number an earlier row has. */
export type DuplicateRow = BadRow & { readonly doubled: true };

export type CheckedRow = GoodRow | BadRow | DuplicateRow;

/** Rows that are written in one transaction: a good batch for `upsertContacts`… */
export const MAX_CHUNK_ROWS = 2000;
/** … unless they are this long together: whoever unpacks a chunk has all of it in memory. */
export const MAX_CHUNK_LENGTH = 4_000_000;

/** In characters, about. */
export const lengthOf = ({ cells }: CheckedRow): number =>
  cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0) + 8, 0);

/** Of cells that are kept to be shown, in characters. */
const MAX_SHOWN_LENGTH = 4096;

/** As many cells as are short enough together, the last one cut, and the others empty. */
export function truncateCells(cells: readonly string[]): string[] {
  let left = MAX_SHOWN_LENGTH;
  return cells.map((cell) => {
    const kept = cell.slice(0, left).toWellFormed();
    left -= kept.length;
    return kept;
  });
}

/** A chunk as it waits. Level 1 takes a tenth of the time of JSON itself. */
export const packRows = (rows: readonly CheckedRow[]): Buffer => zstdCompressSync(JSON.stringify(rows));

export const unpackRows = (octets: Buffer): CheckedRow[] => JSON.parse(zstdDecompressSync(octets).toString('utf8'));
