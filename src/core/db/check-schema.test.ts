import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { listSchemaFaults } from '../../../scripts/schema-rules.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { createRestrictedDatabase, type RestrictedDatabase } from '../../../test/support/restricted-database.ts';
import { dumpSchema } from '../../../test/support/schema-dump.ts';
import { silentLog } from '../log.ts';
import { MIGRATIONS_DIR, migrate } from './migrate.ts';
import { ensurePartitions } from './partitions.ts';
import { many, one, sql } from './query.ts';
import { tenant } from './transaction.ts';

const usual = testDatabase();
let database: RestrictedDatabase;
beforeEach(async () => {
  database = await createRestrictedDatabase(inject('clusterUrl'));
});
afterEach(() => database[Symbol.asyncDispose]());

/** Starts as a new process does: with sessions that have the settings of the user as they are now. */
async function run(): Promise<string[]> {
  const pool = database.open();
  try {
    return await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  } finally {
    await pool.end();
  }
}

const SCHEMAS = sql`
  SELECT DISTINCT n.nspname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema)'`;

test.each(['messaging', 'My App'])(
  'a user with the rights that the documentation names, and no others, has everything in the schema %s',
  async (schema) => {
    const { pool } = database;
    await database.grantAll(`"${schema}"`);
    expect(await run()).not.toEqual([]);
    await ensurePartitions(pool, new Date());
    expect(await run()).toEqual([]);
    expect(await many(pool, SCHEMAS)).toEqual([{ name: schema }]);
    expect(await listSchemaFaults(pool)).toEqual([]);
    const ours = (await dumpSchema(pool))
      .replaceAll(`search_path TO '${schema}'`, "search_path TO 'public'")
      .replaceAll('extensions.gin_trgm_ops', 'gin_trgm_ops');
    expect(ours).toBe(await dumpSchema(usual.pool));
  },
);

test('in another schema an account finds its own rows only', async () => {
  const { pool } = database;
  await database.grantAll('app');
  await run();
  await pool.query(`
    INSERT INTO contact (account_id, phone_number, is_valid, channels, first_name)
    VALUES (1, '+393331234567', true, 1, 'Anna'), (2, '+393331234568', true, 1, 'Anna')`);
  const found = sql`SELECT c.phone_number FROM search_contacts('%anna%', NULL) AS f (id) JOIN contact c ON c.id = f.id`;
  expect(await many(tenant(pool, { accountId: 1 }), found)).toEqual([{ phone_number: '+393331234567' }]);
});

test('a second installation in the same database is refused', async () => {
  const { user } = database;
  await database.grantAll('app');
  await run();
  await database.asAdmin(`CREATE SCHEMA other AUTHORIZATION ${user}; ALTER ROLE ${user} SET search_path = other, app`);
  await expect(run()).rejects.toThrow(/The schema app of this database has the tables .* begins with other/);
});

test('a search_path without a schema is refused with what to do', async () => {
  await database.asAdmin(`ALTER ROLE ${database.user} SET search_path = nowhere`);
  await expect(run()).rejects.toThrow(`CREATE SCHEMA name AUTHORIZATION ${database.user}`);
});

test('the error for a user who may not create tables contains the statement to run', async () => {
  await expect(run()).rejects.toThrow(`ALTER SCHEMA public OWNER TO ${database.user};`);
});

test('the error names the owner of the tables', async () => {
  await database.grantAll('app');
  await run();
  await database.asAdmin('ALTER TABLE app.schema_migration OWNER TO CURRENT_USER');
  const { owner } = await one<{ owner: string }>(usual.pool, sql`SELECT quote_ident(current_user) AS owner`);
  await expect(run()).rejects.toThrow(`belong to ${owner}: connect as ${owner}`);
});

test('the error for a user who may neither create roles nor use that of the accounts contains the statement to run', async () => {
  const { user } = database;
  await database.asAdmin(`CREATE SCHEMA app AUTHORIZATION ${user}; ALTER ROLE ${user} SET search_path = app`);
  const advice = `GRANT heliograph_tenant TO ${user};  GRANT USAGE ON SCHEMA app TO heliograph_tenant;`;
  await expect(run()).rejects.toThrow(advice);
});

test('the error for a user who may not install pg_trgm contains the statement to run', async () => {
  const { user } = database;
  await database.asAdmin(`
    CREATE SCHEMA app AUTHORIZATION ${user}; ALTER ROLE ${user} SET search_path = app;
    GRANT heliograph_tenant TO ${user}`);
  await expect(run()).rejects.toThrow(/permission denied to create extension "pg_trgm".*CREATE EXTENSION pg_trgm;/);
});

test('the error for a user who may not use the schema of pg_trgm contains the statement to run', async () => {
  await database.grantAll('app');
  await database.asAdmin(`REVOKE USAGE ON SCHEMA extensions FROM ${database.user}`);
  await expect(run()).rejects.toThrow(`GRANT USAGE ON SCHEMA extensions TO ${database.user};`);
});
