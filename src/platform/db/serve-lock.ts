import pg from 'pg';

/** The same in every release. */
const LOCK_KEY = 4_202_512;

export type ServeLock =
  | { readonly held: true; release(): Promise<void> }
  /** Who holds it, in the words of that process. */
  | { readonly held: false; readonly holder: string };

/**
 * Makes this process the only `serve` on the database, so that a second start can say that one runs already. It guards
 * against a mistake, nothing depends on it: any number of processes may work on one database.
 *
 * The lock is that of a session: a killed process cannot leave it behind, and a restart of PostgreSQL ends it.
 * `holder` is shown to whoever is turned away, for example 'process 4711, http://127.0.0.1:8080' (63 bytes at most).
 */
export async function holdServeLock(connectionString: string, holder: string): Promise<ServeLock> {
  const client = new pg.Client({ connectionString, application_name: holder, keepAlive: true });
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
