import type { Pool, PoolClient } from 'pg';
import { type Db, exec, sql } from './query.ts';

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. A client whose rollback fails
 * is discarded instead of returning to the pool with an open transaction.
 */
export async function transaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    // Sent together with the first statement. If it fails, the connection is gone, and that statement fails too.
    client.query('BEGIN').catch(() => undefined);
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    // If `work` swallowed the error of a statement, PostgreSQL reports it only here, and not as an error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((e: Error) => {
      broken = e;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

type Promises<T extends readonly unknown[]> = { readonly [K in keyof T]: Promise<T[K]> };

/**
 * Runs statements that do not depend on each other's results in one transaction and one round trip: BEGIN, the
 * statements and COMMIT are sent together. Resolves with the results when committed; rejects with the first error, and
 * then nothing is stored.
 *
 * With four statements a transaction of 25 rows took a fifth of the time, and a row that many transactions lock is
 * locked only during the commit.
 *
 * @param send must issue every statement before it returns: one issued later fails, since the transaction is over
 */
export async function burst<T extends readonly unknown[]>(pool: Pool, send: (tx: Db) => Promises<T>): Promise<T> {
  const client = await pool.connect();
  let open = true;
  const tx: Db = {
    query: (query) =>
      open ? client.query(query) : Promise.reject(new Error('the burst has been sent: this statement came too late')),
  };
  const begun = client.query('BEGIN');
  const sent = send(tx);
  open = false;
  const committed = client.query('COMMIT');
  const [, commit, ...rest] = await Promise.allSettled([begun, committed, ...sent]);
  client.release(commit.status === 'rejected' ? true : undefined);
  for (const result of [...rest, commit]) if (result.status === 'rejected') throw result.reason;
  // PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK, not with an error.
  if (commit.status === 'fulfilled' && commit.value.command !== 'COMMIT')
    throw new Error('the transaction was rolled back');
  return rest.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

/**
 * Raises the statement timeout of one transaction over millions of rows; without it, every session has one minute
 * (src/platform/db/pool.ts).
 */
export const setStatementTimeoutMinutes = (tx: Db, minutes: number): Promise<number> =>
  exec(tx, sql`SELECT set_config('statement_timeout', ${`${minutes}min`}, true)`);
