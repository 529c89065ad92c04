import { expect, test } from 'vitest';
import { applyEdit } from './mutant.ts';
import { maskSql, sqlMutants } from './sql-mutants.ts';

const mutantsOf = (text: string): string[] =>
  sqlMutants(maskSql(text)).map((edit) => applyEdit(text, edit).replace(/ +/g, ' ').trim());

test('each condition of an AND is left out once, wherever the chain ends', () => {
  expect(mutantsOf('SELECT FROM a WHERE b AND (c OR d) AND e ORDER BY f')).toEqual([
    'SELECT FROM a WHERE b AND e ORDER BY f',
    'SELECT FROM a WHERE (c OR d) AND e ORDER BY f',
    'SELECT FROM a WHERE b AND (c OR d) ORDER BY f',
    'SELECT FROM a WHERE b AND (c AND d) AND e ORDER BY f',
  ]);
});

test('the AND of a BETWEEN joins no conditions', () => {
  expect(mutantsOf('WHERE a BETWEEN 1 AND 2')).toEqual([]);
  expect(mutantsOf('WHERE b AND a BETWEEN 1 AND 2')).toEqual(['WHERE b', 'WHERE a BETWEEN 1 AND 2']);
});

test('comparisons move over their boundary, and what a SET assigns stays', () => {
  expect(mutantsOf('UPDATE a SET b = CASE WHEN c < 1 THEN 2 END, d = 3 WHERE e >= 4')).toEqual([
    'UPDATE a SET b = CASE WHEN c <= 1 THEN 2 END, d = 3 WHERE e >= 4',
    'UPDATE a SET b = CASE WHEN c < 1 THEN 2 END, d = 3 WHERE e > 4',
  ]);
});

test('a locking statement loses its lock, its order, and its skipping', () => {
  expect(mutantsOf('SELECT a FROM b ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED')).toEqual([
    'SELECT a FROM b ORDER BY a LIMIT 1',
    'SELECT a FROM b ORDER BY a LIMIT 1 FOR UPDATE',
    'SELECT a FROM b LIMIT 1 FOR UPDATE SKIP LOCKED',
  ]);
});

test('texts and comments have no mutants', () => {
  expect(mutantsOf("SELECT 'a AND b' -- c < d\n")).toEqual([]);
});
