import pg from 'pg';
import type { Client, Pool } from 'pg';
import { clientConfig } from '../../platform/db/client-config.ts';
import { createPool, setUp, TYPES } from '../../platform/db/pool.ts';
import { serversOf, waitForPrimary } from '../../platform/db/servers.ts';
import { explainDatabaseError } from '../../platform/db/startup-error.ts';
import type { Log } from '../../platform/lib/log.ts';
import { COPY_SESSION } from './sql.ts';

/** The database of a cell. */
export type Cell = {
  readonly number: number;
  readonly pool: Pool;
  /** Opens a session of its own, without limits of time, since COPY does not work on the pipelined ones of the pool. */
  openSession(): Promise<Client>;
  close(): Promise<void>;
};

/**
 * A transaction of a move is idle while the other cell works; beyond this, its process hangs and its locks must go. During a
 * COPY a server is not idle: it waits for a machine that takes nothing, which without a limit may be gone for 15 minutes.
 */
const SETTINGS = {
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '60s',
  // The session that keeps other runs out is idle for as long as the copy takes.
  idle_session_timeout: '0',
  tcp_user_timeout: '60s',
  plan_cache_mode: 'auto',
  jit: 'off',
  timezone: 'UTC',
};
/** The account is held meanwhile. */
const CONNECT_TIMEOUT_MS = 10_000;
const APPLICATION_NAME = 'heliograph account move';

/**
 * Opens the database of a cell. Rejects when no server of it accepts writes, with a StartupError that names the cell where a
 * person has to correct something.
 */
export async function openCell(number: number, connectionString: string, log: Log): Promise<Cell> {
  const pool = createPool(connectionString, { max: 3, applicationName: APPLICATION_NAME, log });
  try {
    await waitForPrimary(connectionString);
    await pool.query('SELECT');
  } catch (error) {
    await pool.end();
    throw explainDatabaseError(error, `CELL_DATABASES (cell ${number})`);
  }
  return {
    number,
    pool,
    async openSession() {
      const server = serversOf(connectionString).current();
      const client = new pg.Client(
        clientConfig(server, {
          application_name: COPY_SESSION,
          connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
          keepAlive: true,
          types: TYPES,
        }),
      );
      // A query in progress reports the error through its own promise.
      client.on('error', () => undefined);
      await client.connect();
      await client.query(setUp(SETTINGS));
      return client;
    },
    close: () => pool.end(),
  };
}
