import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { FieldError } from '../../errors.ts';
import type { FieldValue } from '../fields/values.ts';
import type { PhoneDetails } from '../../lib/phone-details.ts';

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
export type DoubleRow = BadRow & { readonly doubled: true };

export type CheckedRow = GoodRow | BadRow | DoubleRow;

/** Rows that are written in one transaction: a good batch for `upsertContacts`. */
export const CHUNK_ROWS = 2000;

/** A chunk as it waits. Level 1 takes a tenth of the time of JSON itself. */
export const packRows = (rows: readonly CheckedRow[]): Buffer => zstdCompressSync(JSON.stringify(rows));

export const unpackRows = (octets: Buffer): CheckedRow[] => JSON.parse(zstdDecompressSync(octets).toString('utf8'));
