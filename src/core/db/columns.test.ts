import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import {
  type BatchColumns,
  bigint,
  boolean,
  bytea,
  input,
  insertRows,
  int,
  json,
  once,
  type RowColumns,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from './columns.ts';
import { exec, many, sql } from './query.ts';

const { pool } = testDatabase({ empty: true });

type Row = {
  readonly big: number | null;
  readonly whole: number | null;
  readonly small: number | null;
  readonly yes: boolean | null;
  readonly name: string | null;
  readonly id: string | null;
  readonly bytes: Uint8Array | null;
  readonly at: Date | null;
  readonly document: string | null;
};

const COLUMNS: BatchColumns<Row> = once({
  big: bigint((r) => r.big),
  whole: int((r) => r.whole),
  small: smallint((r) => r.small),
  yes: boolean((r) => r.yes),
  name: text((r) => r.name),
  id: uuid((r) => r.id),
  bytes: bytea((r) => r.bytes),
  at: timestamptz((r) => r.at),
  document: json((r) => r.document),
});

/** Reads the rows back from PostgreSQL, in its order. */
const read = (rows: readonly Row[]): Promise<Record<string, unknown>[]> =>
  many(pool, sql`SELECT * FROM ${rowsOf(rows, COLUMNS)} AS u`);

/**
 * A row as it comes back: UTF-8 has no unpaired surrogates, and the driver returns bytes as a Buffer and parses JSON.
 */
const asRead = (row: Row): Record<string, unknown> => ({
  ...row,
  name: row.name?.toWellFormed() ?? null,
  bytes: row.bytes === null ? null : Buffer.from(row.bytes),
  document: row.document === null ? null : JSON.parse(row.document),
});

const EMPTY: Row = {
  big: null,
  whole: null,
  small: null,
  yes: null,
  name: null,
  id: null,
  bytes: null,
  at: null,
  document: null,
};

const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 5 });
const texts = fc
  .string({ unit: 'binary', maxLength: 300, size: 'max' })
  .map((value) => value.replaceAll('\0', '"\\,{}'));
const integer = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 });
const row = fc.record<Row>({
  big: orNull(fc.maxSafeInteger().map((n) => n + 0)),
  whole: orNull(integer(32)),
  small: orNull(integer(16)),
  yes: orNull(fc.boolean()),
  name: orNull(texts),
  id: orNull(fc.uuid()),
  bytes: orNull(fc.uint8Array({ maxLength: 200, size: 'max' })),
  at: orNull(fc.date({ min: new Date('0001-01-01Z'), max: new Date('9999-12-31Z'), noInvalidDate: true })),
  document: orNull(fc.json().map((value) => value.replaceAll('\\u0000', ''))),
});

propertyTest.prop([fc.array(row, { minLength: 1, maxLength: 50, size: 'max' })])(
  'rows come back as they were, in their order',
  async (rows) => {
    expect(await read(rows)).toEqual(rows.map(asRead));
  },
);

propertyTest.prop([row, fc.integer({ min: 1, max: 20 }), row])(
  'a column with one value is sent once and is present in every row',
  async (same, count, more) => {
    const rows = Array.from({ length: count }, (_, n) => ({
      ...same,
      big: n,
      small: n % 2 === 0 ? more.small : same.small,
    }));
    expect(await read(rows)).toEqual(rows.map(asRead));
  },
);

propertyTest.prop([row, fc.integer({ min: 1, max: 20 })])(
  'a batch of equal rows keeps its number of rows',
  async (same, count) => {
    expect(await read(Array.from({ length: count }, () => same))).toEqual(
      Array.from({ length: count }, () => asRead(same)),
    );
  },
);

const FIELDS: RowColumns<Row> = once({
  big: bigint,
  whole: input(int),
  small: smallint,
  yes: boolean,
  name: text,
  id: uuid,
  bytes: bytea,
  at: timestamptz,
  document: null,
});
const EXPRESSIONS = [{}, { sum: sql`u.big + ${1}` }, { sum: sql`u.big`, more: sql`${2} + ${3}` }];
const few = fc
  .array(row, { maxLength: 3 })
  .chain((some) => fc.array(fc.constantFrom(...some, EMPTY), { maxLength: 6 }));

propertyTest.prop([few, fc.constantFrom('note', 'note AS n'), fc.constantFrom(...EXPRESSIONS)], { numRuns: 500 })(
  'columns declared once give the text and the values that they give when declared for the batch',
  (rows, table, expressions) => {
    const statements = (fields: RowColumns<Row>, columns: BatchColumns<Row>) =>
      [
        sql`${insertRows(table, rows, fields, expressions)} RETURNING ${1}`,
        sql`SELECT ${rows.length} FROM ${rowsOf(rows, columns)} AS u`,
      ].map((statement) => [statement.text, statement.values]);
    expect(statements(FIELDS, COLUMNS)).toEqual(statements({ ...FIELDS }, { ...COLUMNS }));
  },
);

test('an empty batch is an empty table', async () => {
  expect(await read([])).toEqual([]);
});

test.each([0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
  'the number %d keeps its value',
  async (big) => {
    expect(await read([{ ...EMPTY, big }, EMPTY])).toMatchObject([{ big }, { big: null }]);
  },
);

test.each([
  '1999-12-31T23:59:59.999Z',
  '2000-01-01T00:00:00.000Z',
  '1970-01-01T00:00:00.001Z',
  '2262-04-12T00:00:00.123Z',
  '2285-06-05T23:47:34.741Z',
  '+200000-01-01T00:00:00.001Z',
])('the instant %s keeps its milliseconds', async (instant) => {
  const at = new Date(instant);
  expect(await read([{ ...EMPTY, at }, EMPTY])).toMatchObject([{ at }, { at: null }]);
});

test('an invalid date is an error, never another instant', async () => {
  const at = new Date(Number.NaN);
  await expect((async () => read([{ ...EMPTY, at }, EMPTY]))()).rejects.toThrow(RangeError);
});

test('UUIDs in upper case are the same ids', async () => {
  const id = '018F0000-ABCD-7000-8000-00000000000F';
  expect(await read([{ ...EMPTY, id }, EMPTY])).toMatchObject([{ id: id.toLowerCase() }, { id: null }]);
});

test('of a view into a larger buffer only the view is written', async () => {
  const bytes = Buffer.from('0123456789').subarray(2, 4);
  expect(await read([{ ...EMPTY, bytes }, EMPTY])).toMatchObject([{ bytes: Buffer.from('23') }, { bytes: null }]);
});

test.each([{ whole: 2 ** 31 }, { small: 2 ** 15 }, { small: -(2 ** 15) - 1 }])(
  'a number that does not fit its column is an error, never another number: %j',
  async (more) => {
    await expect((async () => read([{ ...EMPTY, ...more }, EMPTY]))()).rejects.toThrow();
    await expect((async () => read([{ ...EMPTY, ...more }]))()).rejects.toThrow();
  },
);

describe('insertRows', () => {
  type Note = {
    readonly noteId: number;
    readonly body: string | null;
    readonly author: string;
    readonly draft: boolean;
  };
  const NOTES: readonly Note[] = [
    { noteId: 1, body: 'first', author: 'ada', draft: false },
    { noteId: 2, body: null, author: 'ada', draft: true },
  ];

  beforeAll(async () => {
    await exec(
      pool,
      sql`CREATE TABLE note (note_id bigint PRIMARY KEY, body text, author text NOT NULL, length int, draft boolean)`,
    );
  });
  const stored = () => many(pool, sql`DELETE FROM note RETURNING note_id, body, author, length, draft`);

  test('stores each field in the column of its name in snake case', async () => {
    const inserted = await exec(
      pool,
      insertRows('note', NOTES, { noteId: bigint, body: text, author: text, draft: boolean }),
    );
    expect(inserted).toBe(2);
    expect(await stored()).toEqual([
      { note_id: 1, body: 'first', author: 'ada', length: null, draft: false },
      { note_id: 2, body: null, author: 'ada', length: null, draft: true },
    ]);
  });

  test('stores what a function reads, computes further columns, and leaves out inputs and null', async () => {
    await exec(
      pool,
      insertRows(
        'note',
        NOTES,
        { noteId: bigint((n, i) => n.noteId + 10 * i), body: input(text), author: text, draft: null },
        { length: sql`coalesce(length(u.body), ${-1}::int)` },
      ),
    );
    expect(await stored()).toEqual([
      { note_id: 1, body: null, author: 'ada', length: 5, draft: null },
      { note_id: 12, body: null, author: 'ada', length: -1, draft: null },
    ]);
  });

  test('takes ON CONFLICT and RETURNING behind it', async () => {
    const insert = insertRows('note', NOTES, { noteId: bigint, body: text, author: text, draft: null });
    await exec(pool, sql`${insert} ON CONFLICT DO NOTHING`);
    expect(await many(pool, sql`${insert} ON CONFLICT DO NOTHING RETURNING note_id`)).toEqual([]);
    await stored();
    expect(await many(pool, sql`${insert} RETURNING note_id`)).toEqual([{ note_id: 1 }, { note_id: 2 }]);
    await stored();
  });

  test('inserts nothing for a batch without rows', async () => {
    const none: readonly Note[] = [];
    expect(
      await exec(pool, insertRows('note', none, { noteId: bigint, body: text, author: text, draft: boolean })),
    ).toBe(0);
  });

  test('accepts only columns for all fields, each of a type that fits its field', () => {
    type All = { noteId: typeof bigint; body: typeof text; author: typeof text; draft: typeof boolean };
    expectTypeOf<All>().toExtend<RowColumns<Note>>();
    expectTypeOf<Omit<All, 'body'>>().not.toExtend<RowColumns<Note>>();
    expectTypeOf<Omit<All, 'draft'> & { draft: null }>().toExtend<RowColumns<Note>>();
    expectTypeOf<Omit<All, 'noteId'> & { noteId: typeof text }>().not.toExtend<RowColumns<Note>>();
    expectTypeOf<Omit<All, 'body'> & { body: typeof timestamptz }>().not.toExtend<RowColumns<Note>>();
  });
});
