import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { inlineValues, join, many, raw, sql } from './query.ts';

const { pool } = testDatabase();

/** PostgreSQL has no U+0000. */
const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
const evil = fc.constantFrom(
  "'",
  "''",
  '\\',
  "\\'",
  "'; SELECT 1; --",
  '$1',
  '$$',
  '"',
  '%s',
  "E'\\''",
  '\n',
  '--',
  '/*',
);
const value = fc.oneof(text, evil, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());

property.prop([fc.array(value, { minLength: 1, maxLength: 5 })])(
  'a value written as a literal comes back as it was',
  async (values) => {
    const typed = values.map(
      (v) => sql`${v}${raw(typeof v === 'string' ? '::text' : typeof v === 'number' ? '::float8' : '::bool')}`,
    );
    const query = sql`SELECT json_build_array(${join(typed)}) AS found`;
    const { rows } = await pool.query({ text: inlineValues(query), values: [] });
    expect(rows).toEqual(await many(pool, query));
  },
);

test('a value without a plain literal is rejected', () => {
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, undefined, [1], {}, new Date()])
    expect(() => inlineValues(sql`SELECT ${wrong}`)).toThrow('literal');
});

test('negative numbers stay values behind an operator', async () => {
  const { rows } = await pool.query({
    text: inlineValues(sql`SELECT 1 -${-1} AS sum, ${null}::text IS NULL AS none`),
    values: [],
  });
  expect(rows).toEqual([{ sum: 2, none: true }]);
});
