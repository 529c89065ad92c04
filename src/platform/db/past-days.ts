import type { Pool, PoolClient } from 'pg';
import { dayName, listEndedDays } from './partitions.ts';
import { exec, many, one, raw, sql } from './query.ts';

/**
 * What the partitions of past days have beside their keys, for the history: rare channels and statuses are found without
 * reading the day, and deep pages without reading its rows. The days that are written to do without: an index over
 * `status` would cost every receipt three times as much (partitions.ts).
 *
 * Of plain columns and all rows, since only then does building one concurrently not hold back vacuum elsewhere.
 */
const INDEXES: Readonly<Record<string, string>> = {
  message: '(account_id, channel, id)',
  message_state: '(account_id, channel, status, id)',
};

/** Nearly all receipts have come by then. */
const SETTLED_MS = 6 * 3_600_000;
const LOCK_KEY = 4_202_513;
/** In place of the minute that every session has: about 1 µs a row, and whoever reads the table is waited for. */
const MOST_MINUTES = 60;

export type PastDays = {
  /** Indexes the days that ended a while ago; how many indexes were built. */
  work(now: Date): Promise<number>;
  /** Cuts it off: what was begun is built anew another time. */
  stop(): Promise<void>;
};

/**
 * Writers go on while a day is indexed. One process does so at a time (a session's advisory lock, free again when that
 * process dies); what it left unfinished is built anew.
 */
export function createPastDays(pool: Pool): PastDays {
  let stopped = false;
  let pid: number | null = null;

  async function work(now: Date): Promise<number> {
    const client = await pool.connect();
    try {
      const session = await one<Session>(client, BEGIN);
      if (!session.mine || stopped) return 0;
      pid = session.pid;
      const missing = await listMissing(client, now);
      if (missing.length > 0) await exec(client, raw(`SET statement_timeout = '${MOST_MINUTES}min'`));
      let built = 0;
      // Cancelling between two statements cuts nothing off, so it is looked at here as well.
      for (; built < missing.length && !stopped; built++) await build(client, missing[built] as Missing);
      return built;
    } catch (err) {
      if (stopped) return 0;
      throw err;
    } finally {
      pid = null;
      // Ends the session, and with it the lock, its settings and what would be cancelled too late.
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
const BEGIN = sql`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS mine, pg_backend_pid() AS pid`;

type Missing = { readonly table: string; readonly partition: string };

async function listMissing(client: PoolClient, now: Date): Promise<Missing[]> {
  const rows = await many<{ name: string }>(
    client,
    sql`SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indisvalid`,
  );
  const built = new Set(rows.map(({ name }) => name));
  const days = await listEndedDays(client, new Date(now.getTime() - SETTLED_MS));
  return days
    .flatMap((day) => Object.keys(INDEXES).map((table) => ({ table, partition: dayName(table, day) })))
    .filter(({ partition }) => !built.has(indexName(partition)));
}

const indexName = (partition: string): string => `${partition}_history`;

async function build(client: PoolClient, { table, partition }: Missing): Promise<void> {
  // One that was cut off is there, and not valid.
  await exec(client, raw(`DROP INDEX CONCURRENTLY IF EXISTS ${indexName(partition)}`));
  await exec(client, raw(`CREATE INDEX CONCURRENTLY ${indexName(partition)} ON ${partition} ${INDEXES[table]}`));
}
