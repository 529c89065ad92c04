import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { one, plainArray, sql, textArray } from './query.ts';

const { pool } = testDatabase({ empty: true });

/** Reads an array literal through PostgreSQL. */
async function read<T>(literal: string, type: 'text' | 'bigint' | 'boolean'): Promise<T[]> {
  const { list } = await one<{ list: T[] }>(
    pool,
    sql`SELECT CASE ${type} WHEN 'text' THEN to_json(${literal}::text[])
      WHEN 'bigint' THEN to_json(CASE WHEN ${type} = 'bigint' THEN ${literal} ELSE '{}' END::bigint[])
      ELSE to_json(CASE WHEN ${type} = 'boolean' THEN ${literal} ELSE '{}' END::boolean[]) END AS list`,
  );
  return list;
}

/** Returns a text as UTF-8 stores it: a surrogate without its other half is not a character. */
const asStored = (text: string | null): string | null => (text === null ? null : text.toWellFormed());

const SYNTAX = [
  'NULL',
  'null',
  '',
  '"',
  '\\',
  ',',
  '{',
  '}',
  '{}',
  '\\"',
  '\n',
  '\t',
  ' ',
  "'",
  '\\x00',
  '\\u0000',
  '$1',
  '\ud83d',
  'é',
  '💥',
  '\u2028',
  '\ufeff',
  '\uffff',
];
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
    fc.array(fc.constantFrom(...SYNTAX), { maxLength: 20 }).map((pieces) => pieces.join('')),
  )
  .map((value) => value.replaceAll('\0', ''));
const many = <T>(value: fc.Arbitrary<T>) => fc.array(fc.option(value, { freq: 5 }), { maxLength: 100, size: 'max' });

test.each(SYNTAX.map((value) => [value]))('the text %j is the same on the other side', async (value) => {
  expect(await read(textArray([value]), 'text')).toEqual([asStored(value)]);
});

test('an empty list is an empty array', async () => {
  expect(await read(textArray([]), 'text')).toEqual([]);
  expect(await read(plainArray([]), 'bigint')).toEqual([]);
});

propertyTest.prop([many(text)])('texts come out as they went in, nulls apart from the word NULL', async (values) => {
  expect(await read(textArray(values), 'text')).toEqual(values.map(asStored));
});

propertyTest.prop([many(fc.maxSafeInteger().map((n) => n + 0))])('numbers come out as they went in', async (values) => {
  expect(await read(plainArray(values), 'bigint')).toEqual(values);
});

propertyTest.prop([many(fc.boolean())])('booleans come out as they went in', async (values) => {
  expect(await read(plainArray(values), 'boolean')).toEqual(values);
});

propertyTest.prop([many(fc.uuid())])('UUIDs come out as they went in', async (values) => {
  expect(await read(plainArray(values), 'text')).toEqual(values);
});
