import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import { ensureCell, MIGRATIONS_DIR, migrate } from './migrate.ts';
import { createPool } from './pool.ts';
import { exec, many, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

async function emptyDatabase() {
  const database = await createTestDatabase({ empty: true });
  await migrate(database.pool, { dir: MIGRATIONS_DIR, log: silentLog });
  return database;
}

const LAST = 8190;
const firstOfCell = (cell: number): number => cell * 2 ** 40 + 1;

test('the ids of all tables of a new database begin with those of its cell, and go on from there after each start', async () => {
  await using database = await emptyDatabase();
  const { pool } = database;
  await Promise.all([ensureCell(pool, LAST), ensureCell(pool, LAST), ensureCell(pool, LAST)]);
  const sequences = await many<{ name: string; next: number }>(
    pool,
    sql`SELECT s.seqrelid::regclass::text AS name, nextval(s.seqrelid) AS next FROM pg_sequence s`,
  );
  expect(sequences.length).toBeGreaterThan(20);
  expect(sequences.filter(({ next }) => next !== firstOfCell(LAST))).toEqual([]);
  expect(Number.isSafeInteger(firstOfCell(LAST + 1))).toBe(true);
  await ensureCell(pool, LAST);
  const { next } = await one<{ next: number }>(pool, sql`SELECT nextval(${sequences[0]?.name}::regclass) AS next`);
  expect(next).toBe(firstOfCell(LAST) + 1);
});

test('a database of another cell is refused', async () => {
  await using database = await emptyDatabase();
  await ensureCell(database.pool, 3);
  await expect(ensureCell(database.pool, 4)).rejects.toThrow(
    new StartupError('The database belongs to cell 3, but CELL is 4: set CELL=3, or use another database.'),
  );
});

test('a database with accounts from before there were cells is cell 0', async () => {
  await using database = await emptyDatabase();
  await exec(database.pool, sql`INSERT INTO account (name) VALUES ('Acme')`);
  await expect(ensureCell(database.pool, 3)).rejects.toThrow('The database belongs to cell 0');
  await ensureCell(database.pool, 0);
  const { id } = await one<{ id: number }>(
    database.pool,
    sql`INSERT INTO account (name) VALUES ('Other') RETURNING id`,
  );
  expect(id).toBe(2);
});

test('a database that belongs to its cell is only read, so that a command runs while no commit is confirmed', async () => {
  await using database = await emptyDatabase();
  await ensureCell(database.pool, LAST);
  const url = new URL(database.connectionString);
  url.searchParams.set('options', '-c default_transaction_read_only=on');
  const readOnly = createPool(url.href, { max: 1, applicationName: 'test', log: silentLog });
  await expect(exec(readOnly, sql`INSERT INTO account (name) VALUES ('Acme')`)).rejects.toThrow('read-only');
  await ensureCell(readOnly, LAST);
  await readOnly.end();
});
