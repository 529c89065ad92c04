import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import { createPipeline } from './pipeline.ts';
import { type Db, exec, sql } from './query.ts';

/** The transaction within which code runs. Its `isOpen` is false for work that outlives it. */
const openTransaction = new AsyncLocalStorage<{ isOpen: boolean }>();

/**
 * Throws if a transaction is open here. Work that waits for a turn must not hold a connection meanwhile: the others
 * would find none, and two such waits can wait for each other.
 */
export function refuseInTransaction(what: string): void {
  if (openTransaction.getStore()?.isOpen === true) throw new Error(`${what} was asked for in an open transaction`);
}

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. A client whose rollback fails
 * is discarded instead of returned to the pool with an open transaction.
 */
export async function transaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const context = { isOpen: true };
  let broken: Error | undefined;
  try {
    // Sent together with the first statement. If it fails, the connection is gone, and that statement fails too.
    client.query('BEGIN').catch(() => undefined);
    const result = await openTransaction.run(context, () => work(client));
    const { command } = await client.query('COMMIT');
    // If `work` swallowed the error of a statement, PostgreSQL reports it only here, and not as an error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((e: Error) => {
      broken = e;
    });
    if (isOnReadOnlyServer(error)) broken = error;
    throw error;
  } finally {
    context.isOpen = false;
    client.release(broken);
  }
}

const MAX_TRIES = 3;

/**
 * Runs a transaction as `transaction` does, and again if PostgreSQL has ended it in favour of another one that held the
 * rows in another order: three times in all. `work` must do nothing that a rollback does not undo.
 */
export async function repeatedTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction(pool, work);
    } catch (error) {
      if (tries === MAX_TRIES || !isConflict(error)) throw error;
    }
  }
}

/**
 * Returns true if an error is a serialization failure or a deadlock: the same transaction may succeed when repeated.
 */
const isConflict = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');

/**
 * Time for which maintenance waits for a lock of a table. Others queue behind it; and after a second PostgreSQL would
 * cancel an automatic vacuum for it.
 */
const LOCK_TIMEOUT = '200ms';

/** Returns true if an error means that a lock was not obtained within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === '55P03';

/**
 * Runs maintenance of a table in one transaction, as `transaction` does.
 *
 * @returns null if others held a lock that it needs for more than 200 ms; then nothing has changed
 */
export async function transactionUnlessLocked<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T | null> {
  try {
    return await transaction(pool, async (tx) => {
      await exec(tx, sql`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`);
      return work(tx);
    });
  } catch (error) {
    if (isLockTimeout(error)) return null;
    throw error;
  }
}

/** Returns true if a write was refused because its server has become a standby: then the session is of no use. */
const isOnReadOnlyServer = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && error.code === '25006';

type Promises<T extends readonly unknown[]> = { readonly [K in keyof T]: Promise<T[K]> };

/**
 * Runs statements that do not depend on each other's results in one transaction and one round trip (`createPipeline`).
 * Resolves with the results when committed; rejects with the first error, and then nothing is stored.
 *
 * With four statements a transaction of 25 rows took a fifth of the time, and a row that many transactions lock is
 * locked only during the commit.
 *
 * @param send must issue every statement before it returns: one issued later fails, since the transaction is over
 */
export async function burst<T extends readonly unknown[]>(pool: Pool, send: (tx: Db) => Promises<T>): Promise<T> {
  const client = await pool.connect();
  const pipeline = createPipeline();
  const sent = send(pipeline);
  const [committed, ...rest] = await Promise.allSettled([pipeline.send(client), ...sent]);
  const failure = committed.status === 'rejected' ? committed.reason : undefined;
  client.release(failure !== undefined && !(await isUsableAfter(failure, client)));
  if (failure !== undefined) throw failure;
  for (const result of rest) if (result.status === 'rejected') throw result.reason;
  return rest.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

/**
 * Returns true if the server goes on after this failure of a burst, as it does unless the error ends the connection.
 * After an error that is not the server's own the Sync may be missing, and any further statement would commit.
 */
const isUsableAfter = async (failure: unknown, client: PoolClient): Promise<boolean> =>
  failure instanceof pg.DatabaseError &&
  !isOnReadOnlyServer(failure) &&
  client.query('SELECT').then(
    () => true,
    () => false,
  );

/**
 * Raises the statement timeout of one transaction over millions of rows; without it, every session has one minute
 * (src/platform/db/pool.ts).
 */
export const setStatementTimeoutMinutes = (tx: Db, minutes: number): Promise<number> =>
  exec(tx, sql`SELECT set_config('statement_timeout', ${`${minutes}min`}, true)`);
