import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool, PoolClient } from 'pg';
import packageJson from '../../../package.json' with { type: 'json' };
import { ensureUuidv7 } from '../ids.ts';
import type { Log } from '../log.ts';
import { as, columns, type Db, ensureTrigrams, exec, many, one, type RowOf, sql } from './query.ts';
import { StartupError } from './startup-error.ts';
import { ensureTenantRole, TENANT_ROLE, transaction } from './transaction.ts';

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

/** The oid of the schema that holds the tables of this program: the first one in `search_path` that exists. */
export const CURRENT_SCHEMA = sql`(SELECT oid FROM pg_namespace WHERE nspname = current_schema())`;

/**
 * Checks that the tables of this program are, or can be, in the schema that `search_path` begins with, and that this
 * user may change them. Returns its name, quoted where SQL needs it. Throws a StartupError with the correction.
 *
 * One database holds one installation: locks and notifications are shared by all of its schemas, so that two would wait
 * for each other and receive each other's notifications.
 */
async function checkSchema(db: Db): Promise<string> {
  const { schema, user, searchPath, mayCreate, owner, other } = await one<Rights>(db, RIGHTS);
  if (schema === null)
    throw new StartupError(
      `The search_path of ${user} (${searchPath}) names no schema that exists and that ${user} may use: ` +
        `create it with CREATE SCHEMA name AUTHORIZATION ${user}, or correct the path with ALTER ROLE ${user} SET search_path = name.`,
    );
  if (other !== null)
    throw new StartupError(
      `The schema ${other} of this database has the tables of an installation, and the search_path of ${user} begins with ` +
        `${schema}: run ALTER ROLE ${user} SET search_path = ${other}, or use another database. A database holds one installation.`,
    );
  if (owner !== null)
    throw new StartupError(
      `The tables in the schema ${schema} belong to ${owner}: connect as ${owner}, or run GRANT ${owner} TO ${user}.`,
    );
  if (!mayCreate)
    throw new StartupError(
      `PostgreSQL does not allow ${user} to create tables in the schema ${schema}. ` +
        `Run this once as an administrator, then start again:  ALTER SCHEMA ${schema} OWNER TO ${user};`,
    );
  return schema;
}

type Rights = {
  schema: string | null;
  user: string;
  searchPath: string;
  mayCreate: boolean | null;
  /** Owner of the tables, if not this user. */
  owner: string | null;
  /** Another schema of this database with an installation. */
  other: string | null;
};

const RIGHTS = sql`
  SELECT quote_ident(current_schema()) AS schema, quote_ident(current_user) AS user,
         current_setting('search_path') AS "searchPath", has_schema_privilege(${CURRENT_SCHEMA}, 'CREATE') AS "mayCreate",
         (SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class
           WHERE relnamespace = ${CURRENT_SCHEMA} AND relname = 'schema_migration' AND NOT pg_has_role(relowner, 'USAGE'))
           AS owner,
         (SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE c.relname = 'schema_migration' AND c.relkind = 'r' AND n.nspname <> current_schema()
             AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'sha256')
           LIMIT 1) AS other`;

/** Tests run on this version and on each newer one (test/flows/postgres-versions.full.test.ts). */
const MIN_VERSION = 16;

/**
 * Checks that the database is one on which the program works: PostgreSQL 16 or newer, UTF-8, and a session for each
 * connection. Throws a StartupError with the correction.
 */
export async function checkServer(pool: Pool): Promise<void> {
  const { version, number, encoding } = await one<{ version: string; number: number; encoding: string }>(
    pool,
    sql`SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
               current_setting('server_encoding') AS encoding`,
  );
  if (number < MIN_VERSION * 10_000)
    throw new StartupError(
      `The server is PostgreSQL ${version}, but ${MIN_VERSION} or newer is required: upgrade it, or set DATABASE_URL to another one.`,
    );
  if (encoding !== 'UTF8')
    throw new StartupError(
      `The encoding of the database is ${encoding}, but UTF8 is required: create it with ENCODING 'UTF8' TEMPLATE template0.`,
    );
  if (await sharesSessions(pool))
    throw new StartupError(
      'The pooler in DATABASE_URL gives each transaction another session (pool_mode = transaction), but locks, notifications ' +
        'and prepared statements need a dedicated one: set pool_mode = session, or connect to the server itself.',
    );
}

/**
 * Returns true if two connections have had the same session, or one connection has had two, as behind a pooler that
 * lends sessions for single transactions. A pool of one connection is not checked.
 */
export async function sharesSessions(pool: Pool): Promise<boolean> {
  if (pool.options.max < 2) return false;
  const first = await pool.connect();
  try {
    const before = await sessionOf(first);
    // A pooler lends this transaction the session that the first connection has just used.
    const taken = await transaction(pool, sessionOf);
    return before === taken || before !== (await sessionOf(first));
  } finally {
    first.release();
  }
}

async function sessionOf(db: Db): Promise<number> {
  return (await one<{ pid: number }>(db, sql`SELECT pg_backend_pid() AS pid`)).pid;
}

const ROLE_RIGHTS = columns({
  user: as<string>('quote_ident(current_user)'),
  schema: as<string>("coalesce(quote_ident(current_schema()), '')"),
  // A partition belongs to the owner of its table, so only that owner may create and drop one.
  strangeTables: as<number>(`(SELECT count(*) FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'S')
      AND NOT pg_has_role(relowner, 'USAGE'))`),
  mayCreate: as<boolean>("coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"),
  mayEnterTenant: as<boolean>(
    sql`EXISTS (SELECT FROM pg_roles WHERE rolname = ${TENANT_ROLE} AND pg_has_role(oid, 'SET'))`,
  ),
});
type RoleRights = RowOf<typeof ROLE_RIGHTS>;

/** A right that the user of the database lacks: its purpose, and the statement with which a superuser grants it. */
type MissingRight = { readonly what: string; readonly cure: string };

/**
 * Finds the rights that the program needs, now or in the course of a week, and that the user of the database lacks: to
 * create and drop the partitions of days, and to enter the role under which the statements for one account run.
 */
export async function findMissingRights(db: Db): Promise<MissingRight[]> {
  return missing(await one(db, sql`SELECT ${ROLE_RIGHTS}`));
}

function missing({ user, schema, strangeTables, mayCreate, mayEnterTenant }: RoleRights): MissingRight[] {
  if (schema === '') return [{ what: 'to use a schema', cure: `ALTER ROLE ${user} SET search_path = public` }];
  const rights: MissingRight[] = [];
  if (!mayCreate)
    rights.push({ what: `to create tables in ${schema}`, cure: `GRANT CREATE ON SCHEMA ${schema} TO ${user}` });
  if (strangeTables > 0)
    rights.push({
      what: `to change ${strangeTables} tables and sequences of another owner`,
      cure: `REASSIGN OWNED BY <their owner> TO ${user}`,
    });
  if (!mayEnterTenant)
    rights.push({ what: `to enter the role ${TENANT_ROLE}`, cure: `GRANT ${TENANT_ROLE} TO ${user}` });
  return rights;
}

/** Number of ids of a cell. With 8,191 cells the largest id is below 2^53, which a JavaScript number holds exactly. */
const IDS_PER_CELL = 2 ** 40;

export const cellOfId = (id: number): number => Math.floor(id / IDS_PER_CELL);

/**
 * Assigns a new database to a cell, and lets the ids of all its tables begin at `cell` * 2^40: the ids of two cells
 * never meet, so that an account can move from one to the other. A database that already has accounts belongs to cell
 * 0. Call it after the migrations, since new tables bring sequences. Concurrent calls wait for each other. If there is
 * nothing to do it only reads: `doctor` must respond while commits wait for a standby.
 *
 * Throws a StartupError, and changes nothing, if the database belongs to another cell.
 */
export async function ensureCell(pool: Pool, cell: number): Promise<void> {
  if (await isPrepared(pool, cell)) return;
  await transaction(pool, async (tx) => {
    await exec(
      tx,
      sql`INSERT INTO cell (number) SELECT CASE WHEN EXISTS (SELECT FROM account) THEN 0 ELSE ${cell} END
          ON CONFLICT DO NOTHING`,
    );
    const { number } = await one<{ number: number }>(tx, sql`SELECT number FROM cell FOR UPDATE`);
    if (number !== cell)
      throw new StartupError(
        `The database belongs to cell ${number}, but CELL is ${cell}: set CELL=${number}, or use another database.`,
      );
    // Not transactional, and therefore only for sequences that have not reached the ids of the cell.
    await exec(tx, sql`SELECT setval(seqrelid, ${firstIdOf(cell)}::bigint) FROM ${sequencesBefore(cell)}`);
  });
}

/** Returns true if a database belongs to a cell, with all its sequences. */
const isPrepared = async (pool: Pool, cell: number): Promise<boolean> =>
  (
    await one<{ prepared: boolean }>(
      pool,
      sql`SELECT EXISTS (SELECT FROM cell WHERE number = ${cell})
                 AND NOT EXISTS (SELECT FROM ${sequencesBefore(cell)}) AS prepared`,
    )
  ).prepared;

/** The sequences that have not reached the ids of a cell. */
const sequencesBefore = (cell: number) => sql`(
  SELECT s.seqrelid FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = ${CURRENT_SCHEMA}
    AND coalesce(pg_sequence_last_value(s.seqrelid), 0) < ${firstIdOf(cell)}::bigint) AS behind`;

const firstIdOf = (cell: number): number => cell * IDS_PER_CELL;
