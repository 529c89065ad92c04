import type { Readable } from 'node:stream';
import pg from 'pg';
import { to } from 'pg-copy-streams';
import { clientConfig } from './client-config.ts';
import { inlineValues } from './inlined.ts';
import { setUp, TYPES } from './pool.ts';
import type { Db, Sql } from './query.ts';
import { serversOf } from './servers.ts';
import { enterTenant } from './tenant.ts';

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
