import type { Pool, PoolClient } from 'pg';
import { HOUR_MS } from '../lib/time.ts';
import { CURRENT_SCHEMA } from './current-schema.ts';
import { partitionName, listEndedDays } from './partitions.ts';
import { exec, many, one, raw, sql } from './query.ts';

/**
 * The indexes that partitions of past days have in addition to their keys. With them the history finds rare channels
 * and statuses without reading the whole day, and deep pages without reading its rows. Days that are still written to
 * lack them: an index on `status` would make every receipt three times as expensive (partitions.ts). Those days have
 * summaries instead (summaries.ts).
 *
 * They cover plain columns and all rows, since only then does building them concurrently not hold back vacuum
 * elsewhere.
 */
const INDEXES: Readonly<Record<string, string>> = {
  message: '(account_id, channel, id)',
  message_state: '(account_id, channel, status, id)',
};

/** Nearly all receipts have arrived by then. */
const SETTLED_MS = 6 * HOUR_MS;
const LOCK_KEY = 4_202_513;
/** Replaces the minute that every session has: a build takes about 1 µs per row, and waits for readers of the table. */
const BUILD_TIMEOUT_MINUTES = 60;

/** Builds the indexes of past days in the background. */
export type PastDayIndexer = {
  /** Indexes the days that ended at least six hours ago and returns the number of indexes built. */
  work(now: Date): Promise<number>;
  /** Cancels the build in progress, which starts again another time. */
  stop(): Promise<void>;
};

/**
 * Creates an indexer. Writes go on while a day is indexed. Only one process does it at a time (an advisory lock of its
 * session, released when the process dies); an index that it left unfinished is built again.
 */
export function createPastDayIndexer(pool: Pool): PastDayIndexer {
  let stopped = false;
  let pid: number | null = null;

  async function work(now: Date): Promise<number> {
    const client = await pool.connect();
    try {
      const session = await one<Session>(client, OPEN_SESSION);
      if (!session.mine || stopped) return 0;
      pid = session.pid;
      const missing = await listMissing(client, now);
      if (missing.length > 0) await exec(client, raw(`SET statement_timeout = '${BUILD_TIMEOUT_MINUTES}min'`));
      let built = 0;
      // Cancelling between two statements has no effect, so `stopped` is checked here as well.
      for (; built < missing.length && !stopped; built++) await buildIndex(client, missing[built] as MissingIndex);
      return built;
    } catch (err) {
      if (stopped) return 0;
      throw err;
    } finally {
      pid = null;
      // Ends the session, and with it the lock, its settings, and any statement that `stop` would cancel too late.
      client.release(true);
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    if (pid !== null) await exec(pool, sql`SELECT pg_cancel_backend(${pid}::int)`);
  }

  return { work, stop };
}

type Session = { mine: boolean; pid: number };
const OPEN_SESSION = sql`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS mine, pg_backend_pid() AS pid`;

type MissingIndex = { readonly table: string; readonly partition: string };

async function listMissing(client: PoolClient, now: Date): Promise<MissingIndex[]> {
  const rows = await many<{ name: string }>(
    client,
    sql`SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indisvalid AND c.relnamespace = ${CURRENT_SCHEMA}`,
  );
  const built = new Set(rows.map(({ name }) => name));
  const days = await listEndedDays(client, new Date(now.getTime() - SETTLED_MS));
  return days
    .flatMap((day) => Object.keys(INDEXES).map((table) => ({ table, partition: partitionName(table, day) })))
    .filter(({ partition }) => !built.has(indexName(partition)));
}

const indexName = (partition: string): string => `${partition}_history`;

async function buildIndex(client: PoolClient, { table, partition }: MissingIndex): Promise<void> {
  // An interrupted build leaves an invalid index.
  await exec(client, raw(`DROP INDEX CONCURRENTLY IF EXISTS ${indexName(partition)}`));
  await exec(client, raw(`CREATE INDEX CONCURRENTLY ${indexName(partition)} ON ${partition} ${INDEXES[table]}`));
}
