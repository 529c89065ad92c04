import type { Pool, PoolClient } from 'pg';
import { every, type Task } from '../background.ts';
import { firstIdAt } from '../ids.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../time.ts';
import { CURRENT_SCHEMA } from './migrate.ts';
import { type Db, exec, many, one, raw, sql } from './query.ts';
import { transactionUnlessLocked } from './transaction.ts';

const AHEAD_DAYS = 7;
/** Ids are created with the program's clock, which may be behind the database's at midnight. */
const BEHIND_DAYS = 1;

/**
 * The tables partitioned by day, with the storage options of their partitions. A receipt brings its text, so that the
 * new version of a row is twice as long as the old one: on pages filled to 30 % all such updates are HOT; on half-full
 * pages only 47 % are, at three times the CPU or more.
 */
export const DAY_TABLES: Readonly<Record<string, string>> = {
  message: '',
  message_state:
    'WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)',
  message_part: 'WITH (fillfactor = 30)',
  message_event: '',
  // A row is written only once unless the delivery of its event fails.
  webhook_delivery: '',
  webhook_published: '',
};

/** Returns the name of the partition of a table for a day, such as `message_20270131`. */
export const partitionName = (table: string, day: Date): string =>
  `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;

function createPartition(table: string, day: Date): string {
  const next = new Date(day.getTime() + DAY_MS);
  return `CREATE TABLE IF NOT EXISTS ${partitionName(table, day)} PARTITION OF ${table}
    FOR VALUES FROM ('${firstIdAt(day)}') TO ('${firstIdAt(next)}') ${DAY_TABLES[table]}`;
}

async function listPartitions(db: Db): Promise<Set<string>> {
  const rows = await many<{ name: string }>(
    db,
    sql`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE c.relnamespace = ${CURRENT_SCHEMA}`,
  );
  return new Set(rows.map((row) => row.name));
}

/**
 * Makes sure that every day-partitioned table has its partitions from yesterday to a week ahead. Called at every start
 * and every hour; several processes may call it concurrently (advisory lock).
 *
 * @returns the number of partitions created
 */
export async function ensurePartitions(db: Db, now: Date): Promise<number> {
  const today = Math.floor(now.getTime() / DAY_MS);
  const days = Array.from(
    { length: AHEAD_DAYS + BEHIND_DAYS + 1 },
    (_, i) => new Date((today - BEHIND_DAYS + i) * DAY_MS),
  );
  return createPartitions(db, days);
}

/**
 * Makes sure that every day-partitioned table has its partitions of these days.
 *
 * @returns the number of partitions created
 */
export async function createPartitions(db: Db, days: readonly Date[]): Promise<number> {
  const existing = await listPartitions(db);
  const missing = Object.keys(DAY_TABLES).flatMap((table) =>
    days.filter((day) => !existing.has(partitionName(table, day))).map((day) => createPartition(table, day)),
  );
  if (missing.length > 0)
    await exec(db, raw(`DO $$ BEGIN PERFORM pg_advisory_xact_lock(724906);\n${missing.join(';\n')};\nEND $$`));
  return missing.length;
}

/** Returns the day of a partition as its midnight in UTC; undefined for any other table. */
function dayOf(name: string): Date | undefined {
  const [, table = '', year, month, day] = /^(.+)_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
  return table in DAY_TABLES ? new Date(`${year}-${month}-${day}T00:00:00Z`) : undefined;
}

/** Lists the days that have partitions (of this table alone) and ended before `before`, the oldest first. */
export async function listEndedDays(db: Db, before: Date, table?: string): Promise<Date[]> {
  const starts = [...(await listPartitions(db))].flatMap((name) => {
    const day = dayOf(name);
    return day && (table === undefined || name === partitionName(table, day)) ? day.getTime() : [];
  });
  const ended = new Set(starts.filter((start) => start + DAY_MS <= before.getTime()));
  return [...ended].toSorted((a, b) => a - b).map((start) => new Date(start));
}

/**
 * Drops the partitions of a day (of these tables alone): those of the messages first, so that no message without its
 * state is mistaken for a waiting one. Each has its own transaction, since together their locks could deadlock with
 * those of a reader.
 *
 * @returns false if a long-running reader of one of the tables prevented it, so that it must be retried later
 */
export async function dropDay(pool: Pool, day: Date, tables = Object.keys(DAY_TABLES)): Promise<boolean> {
  for (const table of tables) {
    const drop = raw(`DROP TABLE IF EXISTS ${partitionName(table, day)}`);
    if ((await transactionUnlessLocked(pool, (tx) => exec(tx, drop))) === null) return false;
  }
  return true;
}

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
type PastDayIndexer = {
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

/**
 * Summarises recent writes to the states of today's and yesterday's messages since the last call, so that a search for
 * a rare status skips ranges without it. Such a search reads pages without a summary whole, and receipts pay nothing
 * for them. Does nothing while vacuum is at work on the table, because vacuum summarises too.
 *
 * @returns the number of ranges of pages that were summarised
 */
export async function summariseStates(pool: Pool, now: Date): Promise<number> {
  const days = [now, new Date(now.getTime() - DAY_MS)];
  const indexes = days.map((day) => `${partitionName('message_state', day)}_id_status_idx`);
  const ranges = await transactionUnlessLocked(pool, async (tx) => {
    const row = await one<{ ranges: number }>(
      tx,
      sql`SELECT coalesce(sum(brin_summarize_new_values(to_regclass(name))), 0)::int AS ranges
          FROM unnest(${indexes}::text[]) AS name WHERE to_regclass(name) IS NOT NULL`,
    );
    return row.ranges;
  });
  return ranges ?? 0;
}

/** A search for a rare status reads all pages written since: at 10,000 messages per second 100,000 states, 40 ms. */
const SUMMARY_MS = 10 * SECOND_MS;

/** Creates the partitions of coming days and the indexes of past ones, and summarises recent writes. */
export function partitionTasks({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] {
  const pastDays = createPastDayIndexer(pool);
  return [
    { name: 'partitions', work: every(HOUR_MS, () => ensurePartitions(pool, now())) },
    { name: 'summaries', work: every(SUMMARY_MS, () => summariseStates(pool, now())) },
    { name: 'past days', work: every(HOUR_MS, () => pastDays.work(now())), interrupt: pastDays.stop },
  ];
}
