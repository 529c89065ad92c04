import pg from 'pg';
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { createFairQueue, type FairQueue } from '../fair-queue.ts';
import type { Db, Statement } from './query.ts';
import { TENANT_ROLE } from './tenant-role.ts';
import { createPipeline } from './pipeline.ts';
import { refuseInTransaction, transaction } from './transaction.ts';

/** The account whose rows are accessed; an actor is one. */
type Tenant = { readonly accountId: number };

/**
 * The share of a pool that works for accounts. The rest is for batches of single sends, sign-ins and background work.
 */
const SHARE_OF_ACCOUNTS = 0.6;
/**
 * Number of accounts that find connections at the same time, however much each of them asks for, if the pool is large
 * enough.
 */
const ACCOUNTS_AT_ONCE = 3;
/** A second place keeps an account responsive while one of its transactions waits for a lock. */
const LEAST_FOR_ACCOUNT = 2;

const doors = new WeakMap<Pool, FairQueue>();

function doorOf(pool: Pool): FairQueue {
  const known = doors.get(pool);
  if (known) return known;
  const size = Math.max(1, Math.floor(pool.options.max * SHARE_OF_ACCOUNTS));
  const door = createFairQueue({ size, perAccount: Math.max(LEAST_FOR_ACCOUNT, Math.floor(size / ACCOUNTS_AT_ONCE)) });
  doors.set(pool, door);
  return door;
}

/**
 * Runs work for an account that takes a connection of the pool, when it is the account's turn: of 20 connections, 12
 * work for accounts, at most 4 of them for one. So an account with many requests waits for itself, whatever protocol it
 * uses. Rejects with 429 if 1,000 pieces of its work wait already, and in an open transaction.
 */
export function inTurn<T>(pool: Pool, { accountId }: Tenant, work: () => Promise<T>): Promise<T> {
  refuseInTransaction('a turn at the database');
  return doorOf(pool).run(accountId, work);
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
export const enterTenant = (accountId: number): Statement => ({ ...ENTER, values: [String(accountId)] });

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
