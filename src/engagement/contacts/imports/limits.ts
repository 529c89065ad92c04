import { AppError, invalidFields } from '../../../platform/errors.ts';

const MIB = 1024 * 1024;

/** What a file may have. Whatever goes beyond is refused as a whole, before anything is written. */
export const LIMITS = {
  /** Of a CSV or vCard file. */
  textBytes: 200 * MIB,
  /** Of an XLSX file, which is packed… */
  xlsxBytes: 20 * MIB,
  /** … and of all that is read of it, unpacked. */
  unpackedBytes: 64 * MIB,
  rows: 2_000_000,
  columns: 200,
  /** Of one row, in characters; of one physical line of a vCard too. */
  rowLength: 64 * 1024,
} as const;

/** 400: what is wrong with the file, for people. */
export const badFile = (message: string): AppError => invalidFields([{ field: 'file', message }]);

/** 413. */
export const tooLarge = (message: string): AppError =>
  new AppError('too_large', { message: `file: ${message}`, details: [{ field: 'file', message }] });

/** A row as the file has it, and the line (of a sheet: the row) where it begins, from 1. */
export type RawRow = { readonly line: number; readonly cells: readonly string[] };
