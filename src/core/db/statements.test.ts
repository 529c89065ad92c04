import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { join, raw, type Sql, sql } from './query.ts';

/** A part of a statement, and what its text should be, with a question mark for each value. */
type Expected = { readonly part: unknown; readonly text: string; readonly values: readonly unknown[] };

const value = fc.integer().map((n): Expected => ({ part: n, text: '?', values: [n] }));
const RAW = raw('now()');
const literal = fc.constantFrom<Expected>(
  { part: sql`a`, text: 'a', values: [] },
  { part: RAW, text: 'now()', values: [] },
  { part: raw('b'), text: 'b', values: [] },
);
const { tree } = fc.letrec<{ tree: Expected }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    value,
    literal,
    fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => ({
      part: sql`(${a.part} + ${b.part})`,
      text: `(${a.text} + ${b.text})`,
      values: [...a.values, ...b.values],
    })),
    fc.array(tie('tree'), { minLength: 1, maxLength: 4 }).map((items) => ({
      part: join(
        items.map(({ part }) => sql`${part}`),
        ' AND ',
      ),
      text: items.map(({ text }) => text).join(' AND '),
      values: items.flatMap(({ values }) => values),
    })),
  ),
}));

const withQuestionMarks = (text: string): string => text.replace(/\$\d+/g, '?');
const numbersIn = (text: string): number[] => [...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n));

propertyTest.prop([tree], { numRuns: 1000 })(
  'a statement has the text and the values of its parts, whatever its template was composed with before',
  ({ part, text, values }) => {
    const statement = sql`SELECT ${part}`;
    expect([withQuestionMarks(statement.text), statement.values]).toEqual([`SELECT ${text}`, values]);
    expect(numbersIn(statement.text)).toEqual(values.map((_, i) => i + 1));
  },
);

test('the same template with the same parts has its text composed once', () => {
  const by = (part: Sql, n: number) => sql`SELECT ${part} LIMIT ${n}`;
  expect(by(RAW, 1).shape).toBe(by(RAW, 2).shape);
  expect(by(sql`a`, 1).shape).not.toBe(by(RAW, 1).shape);
});

test('parts that are made for one statement are not kept, nor what was composed of them', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const shapes = Array.from({ length: 100 }, (_, n) => {
    const order = sql`SELECT ${RAW} ORDER BY ${raw(`c${n}`)} LIMIT ${n}`;
    const list = sql`SELECT ${join(Array.from({ length: n + 1 }, () => RAW))}, ${n}`;
    return [order, list].map(({ shape }) => new WeakRef(shape));
  }).flat();
  // A WeakRef holds its target until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(shapes.filter((shape) => shape.deref() !== undefined)).toEqual([]);
});
