import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { csvLine, readCell } from '../core/csv.ts';
import { many, sql } from '../core/db/query.ts';
import { selectRows } from './rows.ts';

const { pool } = testDatabase();

const PARTS = [
  '',
  '=',
  '@1',
  "'",
  '"',
  ';',
  '|',
  '\t',
  '\n',
  '\r\n',
  ' ',
  '\u00a0',
  '\u200b',
  '\u3164',
  '＝',
  'Anna',
  '+39',
];
/** Every text of up to three of the parts. */
const TEXTS = PARTS.flatMap((a) => PARTS.flatMap((b) => PARTS.map((c) => a + b + c)));

const cellsOf = async (texts: readonly string[]): Promise<string[]> => {
  const query = {
    columns: [{ name: 'cell', kind: 'text', value: sql`t.text` }] as const,
    source: sql`FROM unnest(${texts}::text[]) WITH ORDINALITY AS t (text, place)`,
    order: sql`t.place`,
    countSource: sql``,
  };
  return (await many<{ cell: string }>(pool, selectRows(query, 'csv'))).map(({ cell }) => cell);
};

test('the database marks the same formulas in a text as the program, and the import takes the marks away', async () => {
  const cells = await cellsOf(TEXTS);
  const ours = TEXTS.map((text) => csvLine([text]).slice(0, -2)).map((line) =>
    line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line,
  );
  expect(cells).toEqual(ours);
  expect(cells.map(readCell)).toEqual(TEXTS);
  expect(cells.filter((cell, at) => cell !== TEXTS[at]).length).toBeGreaterThan(1000);
});

test('a long text of separators and blanks takes time in proportion to its length', async () => {
  const long = ['\n', ' ', "'", '\n '].map((filling) => `x;${filling.repeat(100_000)}`);
  expect(await cellsOf(long)).toEqual(long);
});
