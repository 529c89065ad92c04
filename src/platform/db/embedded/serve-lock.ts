import pg from 'pg';
import { clientConfig } from '../client-config.ts';

/** The advisory lock; it must be the same in every release. */
const LOCK_KEY = 4_202_512;

/** The result of trying to take the lock. */
export type ServeLock =
  | { readonly held: true; release(): Promise<void> }
  /** `holder` describes the process that has the lock, in its own words. */
  | { readonly held: false; readonly holder: string };

/**
 * Tries to make this process the only `serve` on the database, so that a second start can report that one is running.
 * It only guards against mistakes, and nothing depends on it: any number of processes may work on one database.
 *
 * It is a session lock: a killed process cannot leave it behind, and a restart of PostgreSQL ends it. `holder` is shown
 * to the process that does not get the lock, for example 'process 4711, http://127.0.0.1:8080' (at most 63 bytes).
 */
export async function acquireServeLock(connectionString: string, holder: string): Promise<ServeLock> {
  const client = new pg.Client(clientConfig(connectionString, { application_name: holder, keepAlive: true }));
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ held: boolean }>(`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS held`);
  if (rows[0]?.held) return { held: true, release: () => client.end() };
  const other = await findHolder(client);
  await client.end();
  return { held: false, holder: other };
}

async function findHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT application_name AS holder
       FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = ${LOCK_KEY}
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.holder || 'another process';
}
