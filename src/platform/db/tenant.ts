import pg from 'pg';
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { Db, Statement } from './query.ts';
import { TENANT_ROLE } from './tenant-role.ts';
import { transaction } from './transaction.ts';

/** Whose rows: an actor is one. */
type Tenant = { readonly accountId: number };

/**
 * The database as one account may see it: every query runs as `heliograph_tenant` under row-level security
 * (db/migrations/0016_rls.sql), in a transaction of its own that takes one trip to the server. A statement that forgets
 * its account finds no row of another one, and can write none (docs/decisions/0010-two-walls.md).
 *
 * For what a caller drives: routes and the verbs behind them. Batches of many accounts use the pool.
 */
export function tenant(pool: Pool, { accountId }: Tenant): Db {
  return {
    async query<R extends QueryResultRow>(statement: Statement): Promise<QueryResult<R>> {
      const client = await pool.connect();
      try {
        await prepareEntering(client);
        const result = await enterAndQuery<R>(client, accountId, statement);
        client.release();
        return result;
      } catch (error) {
        // What the server refuses it also rolls back; after any other failure nobody knows what was sent.
        client.release(!(error instanceof pg.DatabaseError));
        throw error;
      }
    },
  };
}

/** `transaction`, as one account may see the database. */
export const tenantTransaction = <T>(
  pool: Pool,
  { accountId }: Tenant,
  work: (tx: PoolClient) => Promise<T>,
): Promise<T> =>
  transaction(pool, (tx) => {
    // Travels with the first statement. When it fails the transaction is aborted, and so that one fails too.
    tx.query(enterTenant(accountId)).catch(() => undefined);
    return work(tx);
  });

/**
 * Sets the account and the role until the transaction ends: the next user of the connection is the owner again, of no
 * account. One statement for both, and one that answers no row.
 */
const ENTER = {
  name: 'enter_tenant',
  text: `SELECT WHERE set_config('app.account_id', $1, true) IS NULL OR set_config('role', '${TENANT_ROLE}', true) IS NULL`,
};

/** For whoever holds a transaction of an account by other means than these. */
export const enterTenant = (accountId: number): Statement => ({ ...ENTER, values: [String(accountId)] });

const prepared = new WeakSet<PoolClient>();

/** Once a connection: outside a transaction the statement sets nothing, but the server knows it from now on. */
async function prepareEntering(client: PoolClient): Promise<void> {
  if (prepared.has(client)) return;
  await client.query({ ...ENTER, values: ['0'] });
  prepared.add(client);
}

/**
 * Sends the two statements with one Sync behind them, which makes them one transaction without BEGIN and COMMIT: when
 * entering fails, the server skips the query. That took 4 µs here and 10 µs there, against 28 µs and 30 µs with a
 * transaction around the two (`burst`).
 *
 * The library knows nothing of the first one: it collects both results as it does of a text with several statements.
 */
function enterAndQuery<R extends QueryResultRow>(
  client: PoolClient,
  accountId: number,
  statement: Statement,
): Promise<QueryResult<R>> {
  return new Promise((resolve, reject) => {
    // A text without values would otherwise go as a simple query, which no Sync follows.
    const config = { ...statement, queryMode: 'extended' };
    const query = new pg.Query<R>(config, (error, results) => {
      if (error) reject(error);
      else if (Array.isArray(results) && results.length === 2) resolve(results[1]);
      else reject(new Error('expected the result of one statement behind that of entering'));
    });
    const submit = query.submit.bind(query);
    query.submit = (connection) => {
      const values = [String(accountId)];
      connection.bind({ statement: ENTER.name, values }, true);
      connection.execute({}, true);
      return submit(connection);
    };
    client.query(query);
  });
}
