import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { as, columns, exec, many, maybeOne, one, type Query, type RowOf, sql } from './query.ts';

const { pool } = testDatabase({ empty: true });

beforeAll(async () => {
  await exec(pool, sql`CREATE TABLE route (id bigint PRIMARY KEY, connection_id int, made_at timestamptz NOT NULL)`);
  await exec(pool, sql`INSERT INTO route VALUES (1, 7, '2027-01-31T09:00:00Z'), (2, NULL, '2027-02-01T09:00:00Z')`);
});

const ROUTE = columns({
  id: as<number>('r.id'),
  connectionId: as<number | null>('r.connection_id'),
  madeAt: as<Date>('r.made_at'),
});
type Route = { id: number; connectionId: number | null; madeAt: Date };
const FIRST: Route = { id: 1, connectionId: 7, madeAt: new Date('2027-01-31T09:00:00Z') };
const SECOND: Route = { id: 2, connectionId: null, madeAt: new Date('2027-02-01T09:00:00Z') };

describe('columns', () => {
  test('is the list of the expressions under their names', () => {
    expect(ROUTE.text).toBe('r.id AS "id",r.connection_id AS "connectionId",r.made_at AS "madeAt"');
    expect(ROUTE.values).toEqual([]);
    expect(ROUTE.names).toEqual(['id', 'connectionId', 'madeAt']);
  });

  test('gives rows with these names, and their type', async () => {
    const rows = await many(pool, sql`SELECT ${ROUTE} FROM route r ORDER BY id`);
    expect(rows).toEqual([FIRST, SECOND]);
    expectTypeOf(rows).toEqualTypeOf<Route[]>();
    expectTypeOf<RowOf<typeof ROUTE>>().toEqualTypeOf<Route>();
    const none = await maybeOne(pool, sql`SELECT ${ROUTE} FROM route r WHERE id = ${3}`);
    expect(none).toBeUndefined();
    expectTypeOf(none).toEqualTypeOf<Route | undefined>();
  });

  test('works in RETURNING', async () => {
    const changed = columns({ routeId: as<number>('id'), connection: as<number | null>('connection_id') });
    const row = await one(pool, sql`UPDATE route SET connection_id = 7 WHERE id = ${1} RETURNING ${changed}`);
    expect(row).toEqual({ routeId: 1, connection: 7 });
    expectTypeOf(row).toEqualTypeOf<{ routeId: number; connection: number | null }>();
  });

  test('takes expressions with parameters', async () => {
    const shifted = (by: number) => columns({ shifted: as<number>(sql`r.id + ${by}::bigint`), id: as<number>('r.id') });
    const list = shifted(40);
    expect(list.values).toEqual([40]);
    expect(await many(pool, sql`SELECT ${list} FROM route r WHERE id = ${2}`)).toEqual([{ shifted: 42, id: 2 }]);
  });

  test('of several lists in one statement gives rows with the fields of all', async () => {
    const age = columns({ isOld: as<boolean>(sql`r.made_at < ${new Date('2027-02-01')}`) });
    const rows = await many(pool, sql`SELECT ${ROUTE}, ${age} FROM route r ORDER BY id`);
    expect(rows).toEqual([
      { ...FIRST, isOld: true },
      { ...SECOND, isOld: false },
    ]);
    expectTypeOf(rows).toEqualTypeOf<(Route & { isOld: boolean })[]>();
  });
});

describe('a statement without a list', () => {
  test('has the row type that the caller names', async () => {
    const row = await one<{ n: number }>(pool, sql`SELECT ${1}::int AS n`);
    expect(row).toEqual({ n: 1 });
    expectTypeOf(row).toEqualTypeOf<{ n: number }>();
    expectTypeOf(sql`SELECT 1`).toEqualTypeOf<Query>();
  });

  test('is not of a type that contradicts its list', () => {
    const statement = sql`SELECT ${ROUTE} FROM route r`;
    expectTypeOf(statement).toEqualTypeOf<Query<Route>>();
    expectTypeOf(statement).not.toExtend<Query<{ id: string }>>();
  });
});
