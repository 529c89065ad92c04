import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { FieldError } from '../core/errors.ts';
import type { PhoneDetails } from '../core/phone.ts';
import type { FieldValue } from './fields.ts';

/** Kinds of faults of a value or a row. Faults of one cause in one field can be cured together. */
export const CAUSES = [
  'number_missing',
  'no_country_code',
  'not_a_number',
  'unknown_country_code',
  'impossible_length',
  'rounded',
  'email',
  'gender',
  'yes_or_no',
  'channels',
  'too_long',
  'type',
  'characters',
  'cells',
  'duplicate',
  'limit',
] as const;
export type Cause = (typeof CAUSES)[number];

/** A fault of a row, with its cause; rows that earlier releases rejected have none. */
export type RowFault = FieldError & { readonly cause?: Cause };

/** Ways to make a faulty value usable. */
export const CURES = ['country', 'plus', 'extract', 'dayFirst', 'monthFirst', 'drop'] as const;
export type Cure = (typeof CURES)[number];

/** A value that was changed to import its row: read with a country, as a part of its text or as a date, or dropped. */
export type Change = {
  readonly cure: Cure;
  readonly field: string;
  /** Country with which a number was read. */
  readonly country?: string;
  readonly before: string;
  readonly after: string;
};

/** A row that can become a contact: its cells, in the order of the columns, have the values that contacts store. */
export type GoodRow = {
  readonly line: number;
  readonly cells: readonly (FieldValue | null)[];
  readonly phone: PhoneDetails;
  readonly changes?: readonly Change[];
};
/** A row that cannot become a contact, as the file has it. */
export type BadRow = {
  readonly line: number;
  readonly cells: readonly string[];
  readonly faults: readonly RowFault[];
};
/** A row with the same number as an earlier row. */
export type DuplicateRow = BadRow & { readonly doubled: true };

export type CheckedRow = GoodRow | BadRow | DuplicateRow;

/** Number of rows written in one transaction: a good batch for `upsertContacts`. */
export const MAX_CHUNK_ROWS = 2000;
/** The maximum length of these rows together, in characters: an unpacked chunk is in memory as a whole. */
export const MAX_CHUNK_LENGTH = 4_000_000;

/** Returns the approximate length of a row in characters. */
export const lengthOf = ({ cells }: CheckedRow): number =>
  cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0) + 8, 0);

/** The maximum length of the cells of a row that are stored to be shown, in characters. */
const MAX_SHOWN_LENGTH = 4096;

/** Cuts the cells of a row at a total length of `MAX_SHOWN_LENGTH`: one cell is cut, those after it are empty. */
export function truncateCells(cells: readonly string[]): string[] {
  let left = MAX_SHOWN_LENGTH;
  return cells.map((cell) => {
    const kept = cell.slice(0, left).toWellFormed();
    left -= kept.length;
    return kept;
  });
}

/** Packs rows as chunks store them: JSON, compressed with zstd, which takes a tenth of the time of JSON itself. */
export const packRows = (rows: readonly CheckedRow[]): Buffer => zstdCompressSync(JSON.stringify(rows));

export const unpackRows = (bytes: Buffer): CheckedRow[] => JSON.parse(zstdDecompressSync(bytes).toString('utf8'));
