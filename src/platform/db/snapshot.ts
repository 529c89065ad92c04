import type { Readable } from 'node:stream';
import pg from 'pg';
import { to } from 'pg-copy-streams';
import { inlined } from './inlined.ts';
import { TYPES } from './pool.ts';
import type { Db, Sql } from './query.ts';
import { enterTenant } from './tenant.ts';

/** The database of one account as it was at one moment, to be read at length. */
export type Snapshot = {
  readonly db: Db;
  /** The rows of a query as COPY writes them: `options` are those of COPY. Nothing else may be asked until its end. */
  copy(query: Sql, options: string): Readable;
  /** Ends at once, in the middle of a COPY too. */
  close(): Promise<void>;
};

/** Longer than any file should take; what is stuck must not keep vacuum from the tables for ever. */
const MOST_MINUTES = 60;
const OPTIONS = [`statement_timeout=${MOST_MINUTES}min`, 'timezone=UTC', 'jit=off'];

/**
 * Opens a session of its own, since COPY wants one that waits for each answer, with one transaction that only reads, as one
 * account may see the database. While it is open vacuum removes no row that this moment could see, so close it soon.
 */
export async function openSnapshot(connectionString: string, { accountId }: { accountId: number }): Promise<Snapshot> {
  const client = new pg.Client({
    connectionString,
    application_name: 'heliograph export',
    keepAlive: true,
    types: TYPES,
    options: OPTIONS.map((option) => `-c ${option}`).join(' '),
  });
  // What is under way is told by its own promise.
  client.on('error', () => undefined);
  const close = (): Promise<void> => client.end();
  try {
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(enterTenant(accountId));
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  return {
    db: client,
    copy: (query, options) => client.query(to(`COPY (${inlined(query)}) TO STDOUT (${options})`)),
    close,
  };
}
