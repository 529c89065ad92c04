import { expect, test } from 'vitest';
import { many, sql } from '../../platform/db/query.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { CARRIED, COPIED, LEFT_BEHIND, SHARED } from './tables.ts';

const { pool } = testDatabase();

const listTables = () =>
  many<{ name: string; kind: string }>(
    pool,
    sql`SELECT c.relname AS name, obj_description(c.oid, 'pg_class') AS kind FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        ORDER BY 1`,
  );
const PLACES = [COPIED, CARRIED, SHARED, LEFT_BEHIND].map((place) => Object.keys(place));

test('each table has one place in the move of an account', async () => {
  const names = (await listTables()).map(({ name }) => name);
  expect(PLACES.flat().sort()).toEqual(names);
});

test('all facts move, and no queue is copied while its rows stay', async () => {
  const kinds = new Map((await listTables()).map(({ name, kind }) => [name, kind]));
  const ofKind = (place: object, kind: string) => Object.keys(place).filter((name) => kinds.get(name) === kind);
  expect(ofKind({ ...SHARED, ...LEFT_BEHIND }, 'facts')).toEqual([]);
  expect(ofKind(COPIED, 'queue')).toEqual([]);
});

test('rows are copied after those that they refer to', async () => {
  const keys = await many<{ from: string; to: string }>(
    pool,
    sql`SELECT c.relname AS "from", t.relname AS "to" FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
        WHERE k.contype = 'f' AND k.conparentid = 0 AND c.oid <> t.oid`,
  );
  const order = Object.keys(COPIED);
  const wrong = keys.filter(
    ({ from, to }) => order.includes(from) && order.includes(to) && order.indexOf(from) < order.indexOf(to),
  );
  expect(wrong).toEqual([]);
});

test('rows that are copied ahead refer to no other table, and none to them', async () => {
  const keys = await many<{ from: string; to: string }>(
    pool,
    sql`SELECT c.relname AS "from", t.relname AS "to" FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
        WHERE k.contype = 'f' AND k.conparentid = 0`,
  );
  const isAhead = (name: string) => COPIED[name]?.ahead === true;
  expect(keys.filter(({ from, to }) => isAhead(from) || isAhead(to))).toEqual([]);
});
