import type { Pool } from 'pg';
import { type Db, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';
import { transaction } from './transaction.ts';

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
