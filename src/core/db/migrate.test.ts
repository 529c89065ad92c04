import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { dumpSchema } from '../../../test/support/schema-dump.ts';
import { silentLog } from '../log.ts';
import { MIGRATIONS_DIR, migrate } from './migrate.ts';
import { many, sql } from './query.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let dir: string;
beforeEach(async () => {
  [database, dir] = await Promise.all([createTestDatabase({ empty: true }), mkdtemp(join(tmpdir(), 'migrations-'))]);
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

const put = (name: string, text: string): Promise<void> => writeFile(join(dir, name), text);
const run = (): Promise<string[]> => migrate(database.pool, { dir, log: silentLog });
const tables = async (): Promise<string[]> =>
  (
    await many<{ name: string }>(
      database.pool,
      sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
    )
  )
    .map(({ name }) => name)
    .filter((name) => name !== 'schema_migration');

test('migrations are applied once, in the order of their numbers', async () => {
  await put('0002_b.sql', 'ALTER TABLE a ADD COLUMN b int; CREATE TABLE b ()');
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await put('README.md', 'not a migration');
  expect(await run()).toEqual(['0001_a', '0002_b']);
  expect(await run()).toEqual([]);
  await put('0003_c.sql', 'CREATE TABLE c ()');
  expect(await run()).toEqual(['0003_c']);
  expect(await tables()).toEqual(['a', 'b', 'c']);
});

test('of ten concurrent runs one applies each migration, and the others wait for it', async () => {
  await put('0001_a.sql', 'CREATE TABLE a (); SELECT pg_sleep(0.2)');
  const applied = await Promise.all(
    Array.from({ length: 10 }, async () => ({ names: await run(), tables: await tables() })),
  );
  expect(applied.flatMap(({ names }) => names)).toEqual(['0001_a']);
  for (const runner of applied) expect(runner.tables).toEqual(['a']);
});

test('a migration that fails leaves nothing behind, keeps the earlier ones, and can be corrected', async () => {
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await put('0002_b.sql', 'CREATE TABLE b (); SELECT 1/0');
  await expect(run()).rejects.toThrow('migration 0002_b failed: division by zero');
  expect(await tables()).toEqual(['a']);
  await put('0002_b.sql', 'CREATE TABLE b ()');
  expect(await run()).toEqual(['0002_b']);
});

test('a changed file that has been applied is rejected', async () => {
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await run();
  await put('0001_a.sql', 'CREATE TABLE a (id int)');
  await put('0002_b.sql', 'CREATE TABLE b ()');
  await expect(run()).rejects.toThrow('0001_a was changed after it was applied');
  expect(await tables()).toEqual(['a']);
});

test('a database to which a newer release has added something is left as it is, and works', async () => {
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await put('0002_b.sql', 'CREATE TABLE b ()');
  await run();
  await rm(join(dir, '0002_b.sql'));
  expect(await run()).toEqual([]);
  expect(await tables()).toEqual(['a', 'b']);
});

test('a database from which a newer release has removed what this one uses is rejected', async () => {
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await put('0002_contract_999_0_0_a.sql', 'DROP TABLE a');
  await run();
  await rm(join(dir, '0002_contract_999_0_0_a.sql'));
  await expect(run()).rejects.toThrow('belongs to a newer release (it has 0002_contract_999_0_0_a)');
});

test('a database with a migration between those of this program is rejected', async () => {
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await put('0002_b.sql', 'CREATE TABLE b ()');
  await run();
  await rm(join(dir, '0002_b.sql'));
  await put('0003_c.sql', 'CREATE TABLE c ()');
  await expect(run()).rejects.toThrow('it has 0002_b');
  expect(await tables()).toEqual(['a', 'b']);
});

test('a new file with a number below an applied one is rejected', async () => {
  await put('0002_b.sql', 'CREATE TABLE b ()');
  await run();
  await put('0001_a.sql', 'CREATE TABLE a ()');
  await expect(run()).rejects.toThrow('0001_a comes before 0002_b');
});

test.each(['1_short.sql', '0001_Upper.sql', '0001_a-b.sql'])('the file name %s is refused', async (name) => {
  await put(name, 'SELECT 1');
  await expect(run()).rejects.toThrow('must have a name such as 0042_add_table.sql');
});

test('two files with one number are rejected', async () => {
  await put('0001_a.sql', 'SELECT 1');
  await put('0001_b.sql', 'SELECT 1');
  await expect(run()).rejects.toThrow('0001_b.sql must have a name');
});

test('the migrations of this program apply to an empty database, and change nothing the second time', async () => {
  const real = { dir: MIGRATIONS_DIR, log: silentLog };
  expect((await migrate(database.pool, real))[0]).toBe('0001_schema');
  const schema = await dumpSchema(database.pool);
  expect(await migrate(database.pool, real)).toEqual([]);
  expect(await dumpSchema(database.pool)).toBe(schema);
});
