import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool, PoolClient } from 'pg';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Log } from '../lib/log.ts';
import { checkSchema } from './check-schema.ts';
import { checkServer } from './check-server.ts';
import { exec, many, sql } from './query.ts';
import { StartupError } from './startup-error.ts';
import { ensureTenantRole } from './tenant-role.ts';
import { ensureTrigrams } from './trigrams.ts';
import { ensureUuidv7 } from './uuidv7.ts';

/** The folder db/migrations of this program. */
export const MIGRATIONS_DIR = fileURLToPath(new URL('../../../db/migrations', import.meta.url));

type Migration = { readonly name: string; readonly text: string; readonly sha256: string };

/** The advisory lock of concurrent runs: any number, but the same in every release. */
const LOCK_KEY = 4_202_511;

/**
 * Applies the pending migrations of `dir` (files NNNN_name.sql, in the order of their names), each in its own
 * transaction, in the schema that `search_path` begins with. Forward only. Of several concurrent runs, one works and
 * the others wait for it. Returns the names that this call applied. A database without rows of accounts (`hasTenants`
 * is false) needs no role for them, and no functions.
 *
 * A database of a newer release, with migrations after the last one of `dir`, stays as it is: while an installation is
 * upgraded, both releases work on it.
 *
 * Throws a StartupError, and changes no table, if the server or the schema is not suitable (`checkServer`,
 * `checkSchema`), if the tenant role or pg_trgm is missing and cannot be created, if an applied file was changed, if a
 * newer release has removed what this one uses (`worksWith`), or if a new file would come before an applied one.
 */
export async function migrate(
  pool: Pool,
  { dir, log, hasTenants = true }: { dir: string; log: Log; hasTenants?: boolean },
): Promise<string[]> {
  const migrations = await readMigrations(dir);
  await checkServer(pool);
  const client = await pool.connect();
  try {
    await client.query('SET statement_timeout = 0');
    await client.query(`SELECT pg_advisory_lock(${LOCK_KEY})`);
    const schema = await checkSchema(client);
    if (hasTenants) {
      await ensureTenantRole(client);
      await ensureUuidv7(client);
      await ensureTrigrams(client);
    }
    const pending = await findPending(client, migrations);
    for (const migration of pending) await apply(client, migration, { schema, log });
    if (pending.length > 0) log.info({ count: pending.length, migration: pending.at(-1)?.name }, 'migrations applied');
    return pending.map(({ name }) => name);
  } finally {
    // Closing the connection ends the lock, the open transaction after a failure, and the session settings.
    client.release(true);
  }
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort();
  const wrong = names.find(
    (name, i) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(name) || name.slice(0, 4) === names[i - 1]?.slice(0, 4),
  );
  if (wrong !== undefined)
    throw new StartupError(`${join(dir, wrong)} must have a name such as 0042_add_table.sql, with a unique number.`);
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(dir, name), 'utf8');
      return { name: name.slice(0, -'.sql'.length), text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

async function findPending(client: PoolClient, migrations: readonly Migration[]): Promise<Migration[]> {
  await createTable(client);
  const applied = await many<{ name: string; sha256: string }>(
    client,
    sql`SELECT name, sha256 FROM schema_migration ORDER BY name`,
  );
  for (const [index, { name, sha256 }] of applied.entries()) {
    const migration = migrations[index];
    if (migration === undefined && worksWith(name)) continue;
    if (!migrations.some((known) => known.name === name)) {
      throw new StartupError(
        `The database belongs to a newer release (it has ${name}): start that release, or restore a backup from this one.`,
      );
    }
    if (migration?.name !== name) {
      throw new StartupError(
        `Migration ${migration?.name} comes before ${name}, which has already been applied: give it a higher number.`,
      );
    }
    if (migration.sha256 !== sha256) {
      throw new StartupError(
        `Migration ${name} was changed after it was applied: restore the file, and put the change into a new migration.`,
      );
    }
  }
  return migrations.slice(applied.length);
}

/**
 * Returns true if this program works on a database that has a newer migration. A migration that removes something names
 * the release that no longer needs it: `0080_contract_0_3_0_old_column`. The name is all that a database tells an older
 * program.
 */
function worksWith(name: string): boolean {
  const needed = /^\d{4}_contract_(\d+)_(\d+)_(\d+)_/.exec(name)?.slice(1).join('.');
  return needed === undefined || packageJson.version.localeCompare(needed, 'en', { numeric: true }) >= 0;
}

async function createTable(client: PoolClient): Promise<void> {
  const [found] = await many<{ found: boolean }>(
    client,
    sql`SELECT to_regclass('schema_migration') IS NOT NULL AS found`,
  );
  if (found?.found) return;
  await client.query(`
    CREATE TABLE schema_migration (
      name       text PRIMARY KEY,
      sha256     text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON TABLE schema_migration IS 'queue';
  `);
}

async function apply(
  client: PoolClient,
  { name, text, sha256 }: Migration,
  { schema, log }: { schema: string; log: Log },
): Promise<void> {
  log.debug({ migration: name }, 'applying migration');
  try {
    await client.query('BEGIN');
    await client.query(inSchema(text, schema));
    await exec(client, sql`INSERT INTO schema_migration (name, sha256) VALUES (${name}, ${sha256})`);
    await client.query('COMMIT');
  } catch (error) {
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/**
 * Returns a migration for a schema, given as an SQL identifier: migrations name no schema, except where a function that
 * runs as the owner sets its search_path.
 */
const inSchema = (text: string, schema: string): string =>
  text.replaceAll('SET search_path = public, pg_temp', () => `SET search_path = ${schema}, pg_temp`);
