import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import pg, { type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { to } from 'pg-copy-streams';
import { createFairQueue, type FairQueue } from '../fair-queue.ts';
import { createPipeline } from './pipeline.ts';
import { clientConfig, serversOf, setUp, TYPES } from './pool.ts';
import { type Db, exec, inlineValues, one, type Sql, type Statement, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

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
 * (src/core/db/pool.ts).
 */
export const setStatementTimeoutMinutes = (tx: Db, minutes: number): Promise<number> =>
  exec(tx, sql`SELECT set_config('statement_timeout', ${`${minutes}min`}, true)`);

/** The role that queries for one account run as: it owns nothing, cannot log in, and is under row-level security. */
export const TENANT_ROLE = 'heliograph_tenant';

const NOT_ALLOWED = '42501';

/**
 * Makes sure that the tenant role exists, that this database user may switch to it, and that it may use the schema.
 * Roles belong to the cluster, not to the database: another database may have created the role already, or be creating
 * it at this moment, and a backup restored elsewhere comes without it. So this is checked at every start and is not
 * part of a migration.
 *
 * Throws a StartupError with the statements to run if the user lacks the privileges. The program must not continue
 * without the role: a gateway with one wall instead of two must not run unnoticed.
 */
export async function ensureTenantRole(db: Db): Promise<void> {
  try {
    await exec(db, ENSURE);
  } catch (cause) {
    if (!isNotAllowed(cause)) throw cause;
    const { user, schema } = await one<{ user: string; schema: string }>(
      db,
      sql`SELECT quote_ident(current_user) AS user, quote_ident(current_schema()) AS schema`,
    );
    throw new StartupError(
      `PostgreSQL does not allow ${user} to create or use the role ${TENANT_ROLE}, which separates the accounts. ` +
        `Run this once as an administrator (skip the first statement if the role exists), then start again:  ` +
        `CREATE ROLE ${TENANT_ROLE} NOLOGIN;  GRANT ${TENANT_ROLE} TO ${user};  ` +
        `GRANT USAGE ON SCHEMA ${schema} TO ${TENANT_ROLE};`,
      { cause },
    );
  }
}

/** Ensures the role. Of two concurrent runs the second waits for the first and then finds nothing left to do. */
const ENSURE = sql`
  DO $$
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'heliograph_tenant') THEN
      BEGIN
        CREATE ROLE heliograph_tenant NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF NOT pg_has_role('heliograph_tenant', 'SET') THEN
      BEGIN
        GRANT heliograph_tenant TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;
      EXCEPTION WHEN unique_violation THEN NULL;
      END;
    END IF;
    IF NOT has_schema_privilege('heliograph_tenant', current_schema(), 'USAGE') THEN
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO heliograph_tenant', current_schema());
    END IF;
    -- From a user who may not grant it, GRANT is a warning.
    IF NOT has_schema_privilege('heliograph_tenant', current_schema(), 'USAGE') THEN
      RAISE insufficient_privilege;
    END IF;
  END $$`;

const isNotAllowed = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === NOT_ALLOWED;

/** The account whose rows are accessed; an actor is one. */
type Tenant = { readonly accountId: number };

/**
 * The share of a pool that works for accounts. The rest is for batches of single sends, sign-ins and background work.
 */
export const SHARE_OF_ACCOUNTS = 0.6;
/**
 * Number of accounts that find connections at the same time, however much each of them asks for, if the pool is large
 * enough.
 */
export const ACCOUNTS_AT_ONCE = 3;
/** Least connections of an account: a second one keeps it responsive while one of its transactions waits for a lock. */
export const LEAST_FOR_ACCOUNT = 2;

const queues = new WeakMap<Pool, FairQueue>();

function queueOf(pool: Pool): FairQueue {
  const known = queues.get(pool);
  if (known) return known;
  const size = Math.max(1, Math.floor(pool.options.max * SHARE_OF_ACCOUNTS));
  const perAccount = Math.max(LEAST_FOR_ACCOUNT, Math.floor(size / ACCOUNTS_AT_ONCE));
  const queue = createFairQueue({ name: 'database', size, perAccount });
  queues.set(pool, queue);
  return queue;
}

/**
 * Runs work for an account that takes a connection of the pool, when it is the account's turn: of 20 connections, 12
 * work for accounts, at most 4 of them for one. So an account with many requests waits for itself, whatever protocol it
 * uses. Rejects with 429 if 1,000 pieces of its work wait already, and in an open transaction.
 */
export function inTurn<T>(pool: Pool, { accountId }: Tenant, work: () => Promise<T>): Promise<T> {
  refuseInTransaction('a turn at the database');
  return queueOf(pool).run(accountId, work);
}

/**
 * Returns the database with the rights of one account: every query runs as `heliograph_tenant` under row-level security
 * (the policies of db/migrations), in its own transaction and one round trip. A statement that lacks the condition on
 * the account can neither read nor write rows of other accounts (docs/decisions/0010-two-walls.md).
 *
 * Use it for everything done on behalf of a caller: routes and the operations behind them. Batches across accounts use
 * the pool.
 */
export function tenant(pool: Pool, { accountId }: Tenant): Db {
  return {
    query: <R extends QueryResultRow>(statement: Statement) =>
      inTurn(pool, { accountId }, () => queryAs<R>(pool, accountId, statement)),
  };
}

async function queryAs<R extends QueryResultRow>(
  pool: Pool,
  accountId: number,
  statement: Statement,
): Promise<QueryResult<R>> {
  const client = await pool.connect();
  try {
    const result = await enterAndQuery<R>(client, accountId, statement);
    client.release();
    return result;
  } catch (error) {
    // The server rolls back a transaction that it rejects; after any other failure the state of the connection is
    // unknown.
    client.release(!(error instanceof pg.DatabaseError));
    throw error;
  }
}

/** Runs `work` in one transaction (see `transaction`) with the rights of one account (see `tenant`). */
export const tenantTransaction = <T>(
  pool: Pool,
  { accountId }: Tenant,
  work: (tx: PoolClient) => Promise<T>,
): Promise<T> => inTurn(pool, { accountId }, () => transactionAs(pool, accountId, work));

const transactionAs = <T>(pool: Pool, accountId: number, work: (tx: PoolClient) => Promise<T>): Promise<T> =>
  transaction(pool, async (tx) => {
    // Sent together with the first statement. If it fails, the transaction is aborted, and that statement fails too.
    const refusal = tx.query(enterTenant(accountId)).then(
      () => undefined,
      (error: unknown) => error,
    );
    try {
      return await work(tx);
    } catch (error) {
      throw (await refusal) ?? error;
    }
  });

/**
 * Sets the account and the role until the transaction ends; then the connection has the rights of the owner again, and
 * no account. One statement for both, which returns no row. It fails if the account is not served in this database
 * (`refuse_away`).
 */
const ENTER = {
  name: 'enter_tenant',
  text: `SELECT WHERE EXISTS (SELECT FROM account WHERE id = ($1::text)::bigint AND away IS NOT NULL AND refuse_away(id))
    OR set_config('app.account_id', $1, true) IS NULL OR set_config('role', '${TENANT_ROLE}', true) IS NULL`,
};

/** Returns the statement that gives a transaction opened elsewhere the rights of one account until it ends. */
const enterTenant = (accountId: number): Statement => ({ ...ENTER, values: [String(accountId)] });

/**
 * Runs both statements in one round trip as one transaction (`createPipeline`): if entering fails, the server skips the
 * query.
 */
async function enterAndQuery<R extends QueryResultRow>(
  client: PoolClient,
  accountId: number,
  statement: Statement,
): Promise<QueryResult<R>> {
  const pipeline = createPipeline();
  const results = [pipeline.query(enterTenant(accountId)), pipeline.query<R>(statement)] as const;
  const [sent, , result] = await Promise.allSettled([pipeline.send(client), ...results]);
  if (sent.status === 'rejected') throw sent.reason;
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

type Waiting<I, O> = { readonly item: I; resolve(result: O): void; reject(error: unknown): void };

type GroupCommitOptions<I, O> = {
  /** Handles all items in one statement or transaction; resolves with one result for each, in the same order. */
  flush(items: I[]): Promise<O[]>;
  /** Maximum size of a batch. */
  readonly maxItems?: number;
  /** Maximum number of concurrent flushes. */
  readonly inFlight?: number;
};

/**
 * Turns single calls into batches: all calls that arrive while earlier flushes are in progress go into the next batch.
 * There is no timer, so a lone item only waits for the end of the current turn of the event loop.
 *
 * Each item is flushed exactly once, in the order of the calls, within and across batches. If a flush fails, only the
 * calls of that batch reject with its error.
 *
 * Measured with 64 concurrent inserts: 34,000 rows/s, against 4,000–10,000 with a statement for each.
 */
export function groupCommit<I, O>({ flush, maxItems = 1000, inFlight = 2 }: GroupCommitOptions<I, O>) {
  let waiting: Waiting<I, O>[] = [];
  let underWay = 0;
  let scheduled = false;

  const start = (): void => {
    scheduled = false;
    while (underWay < inFlight && waiting.length > 0) {
      const batch = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      underWay++;
      void settle(batch, flush).finally(() => {
        underWay--;
        start();
      });
    }
  };
  const schedule = (): void => {
    if (scheduled || underWay >= inFlight) return;
    scheduled = true;
    setImmediate(start);
  };
  return (item: I): Promise<O> =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}

async function settle<I, O>(batch: readonly Waiting<I, O>[], flush: (items: I[]) => Promise<O[]>): Promise<void> {
  try {
    const results = await flush(batch.map((waiting) => waiting.item));
    if (results.length !== batch.length)
      throw new Error(`flush of ${batch.length} items gave ${results.length} results`);
    results.forEach((result, index) => batch[index]?.resolve(result));
  } catch (error) {
    for (const waiting of batch) waiting.reject(error);
  }
}

/** The data of one account as of one moment, for long reads. */
export type Snapshot = {
  readonly db: Db;
  /**
   * Streams the rows of a query as COPY writes them, with the given COPY options. Allows no other query until its end.
   */
  copy(query: Sql, options: string): Readable;
  /** Ends the session immediately, even in the middle of a COPY. */
  close(): Promise<void>;
};

/** Time limit of a query, longer than any file should take: a stuck one must not hold back vacuum forever. */
const STATEMENT_TIMEOUT_MINUTES = 60;
const SETTINGS = { statement_timeout: `${STATEMENT_TIMEOUT_MINUTES}min`, timezone: 'UTC', jit: 'off' };

/** A server whose machine is gone does not respond at all. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Opens a snapshot with its own session, since COPY does not work on pipelined ones, in one read-only transaction with
 * the rights of the account. While it is open, vacuum cannot remove rows that it might see, so close it soon.
 */
export async function openSnapshot(connectionString: string, { accountId }: { accountId: number }): Promise<Snapshot> {
  const server = serversOf(connectionString).current();
  const client = new pg.Client(
    clientConfig(server, {
      application_name: 'heliograph export',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      types: TYPES,
    }),
  );
  // A query in progress reports the error through its own promise.
  client.on('error', () => undefined);
  const close = (): Promise<void> => client.end();
  try {
    await client.connect();
    await client.query(setUp(SETTINGS));
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(enterTenant(accountId));
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  return {
    db: client,
    copy: (query, options) => client.query(to(`COPY (${inlineValues(query)}) TO STDOUT (${options})`)),
    close,
  };
}
