import { bytesArray, plainArray, textArray } from './array.ts';
import { raw, type Sql, sql } from './query.ts';

/**
 * The columns of a batch, as arrays for unnest(). A column in which every row has the same value (the account, the
 * sender, the text of a bulk send) travels as that one value: it is written, sent and parsed once, not a thousand times.
 */
type Column<T> = (values: readonly T[]) => Sql;

function columnOf<T extends string | number | boolean | Uint8Array>(
  type: string,
  literal: (values: readonly (T | null)[]) => string,
): Column<T | null> {
  const one = raw(`::${type}, ARRAY[`);
  const array = raw(`::${type}[]`);
  return (values) => {
    const [first = null] = values;
    if (values.length > 1 && values.every((value) => value === first))
      return sql`array_fill(${first}${one}${values.length}::int])`;
    return sql`${literal(values)}${array}`;
  };
}

export const bigints = columnOf<number>('bigint', plainArray);
export const ints = columnOf<number>('int', plainArray);
export const smallints = columnOf<number>('smallint', plainArray);
export const booleans = columnOf<boolean>('boolean', plainArray);
export const uuids = columnOf<string>('uuid', plainArray);
export const texts = columnOf<string>('text', textArray);
export const jsons = columnOf<string>('json', textArray);
export const byteas = columnOf<Uint8Array>('bytea', bytesArray);

const instants = columnOf<string>('timestamptz', textArray);
export const timestamps: Column<Date | null> = (values) => instants(values.map((value) => value?.toISOString() ?? null));
