import { Type } from 'typebox';

/** The schema of a query field with a list of ids, such as `12,40,41`. It has room for about 2,000 ids. */
export const idList = (description: string) =>
  Type.String({
    maxLength: 20_000,
    pattern: String.raw`^ *\d{1,15} *(, *\d{1,15} *)*$`,
    'x-message': 'must be comma-separated ids',
    description: `${description} Comma-separated ids.`,
  });

/** Parses such a field into distinct ids; undefined if it was omitted. */
export function readIds(text: string): number[];
export function readIds(text: string | undefined): number[] | undefined;
export function readIds(text: string | undefined): number[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(',').map(Number))];
}
