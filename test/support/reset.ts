import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { exec, many, type Sql, sql } from '../../src/core/db/query.ts';
import { transaction } from '../../src/core/db/transaction.ts';

/** Much shorter than the second after which PostgreSQL looks for deadlocks. */
const LOCK_TIMEOUT_MS = 50;
const DEADLINE_MS = 20_000;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs a TRUNCATE between two tests. It takes its locks one by one, and would be in a deadlock with a statement that has
 * one of them and wants another: of a task that the test before has left, or of a program that runs meanwhile. So it
 * gives all of them back when one is not free, and begins again. Fails when they are not free for 20 seconds, and names
 * the sessions that use the database.
 */
export async function reset(pool: Pool, truncate: Sql): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await tryReset(pool, truncate))) {
    if (performance.now() > deadline) throw new Error(`the tables stay locked:\n${await describeSessions(pool)}`);
    await delay(LOCK_TIMEOUT_MS / 5);
  }
}

async function tryReset(pool: Pool, truncate: Sql): Promise<boolean> {
  try {
    await transaction(pool, async (tx) => {
      await exec(tx, sql`SELECT set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}ms`}, true)`);
      await exec(tx, truncate);
    });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

async function describeSessions(pool: Pool): Promise<string> {
  const sessions = await many<{ state: string; query: string }>(
    pool,
    sql`SELECT state, query FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`,
  );
  return sessions.map(({ state, query }) => `${state}: ${query}`).join('\n');
}
