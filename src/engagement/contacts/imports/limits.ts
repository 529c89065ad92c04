import { AppError, invalidFields } from '../../../platform/errors.ts';

const MIB = 1024 * 1024;

/** The limits of a file. A file beyond any of them is rejected as a whole, before anything is written. */
export const LIMITS = {
  /** The size of a CSV or vCard file. */
  textBytes: 200 * MIB,
  /** The size of an XLSX file, which is compressed. */
  xlsxBytes: 20 * MIB,
  /** The size of all content that is read from an XLSX file, uncompressed. */
  unpackedBytes: 64 * MIB,
  rows: 2_000_000,
  columns: 200,
  /** The characters of one row, and of one physical line of a vCard. */
  rowLength: 64 * 1024,
} as const;

/** The error 400 for a faulty file; `message` is shown to people. */
export const badFile = (message: string): AppError => invalidFields([{ field: 'file', message }]);

/** The error 413 for a file that is too large; `message` is shown to people. */
export const tooLarge = (message: string): AppError =>
  new AppError('too_large', { message: `file: ${message}`, details: [{ field: 'file', message }] });

/** A row as the file has it, and the line (in a sheet: the row) where it begins, from 1. */
export type RawRow = { readonly line: number; readonly cells: readonly string[] };
