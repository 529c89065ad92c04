import { Type } from 'typebox';

/** A query field that names rows by their ids: `12,40,41`. Up to about 2,000 of them. */
export const idList = (description: string) =>
  Type.String({
    maxLength: 20_000,
    pattern: String.raw`^ *\d{1,15} *(, *\d{1,15} *)*$`,
    'x-message': 'must be ids with commas between them',
    description: `${description} Ids with commas between them.`,
  });

/** The ids of such a field, each once; undefined when it was left out. */
export function readIds(text: string): number[];
export function readIds(text: string | undefined): number[] | undefined;
export function readIds(text: string | undefined): number[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(',').map(Number))];
}
