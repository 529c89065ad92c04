import type { Pool } from 'pg';
import { firstIdAt } from '../lib/ids.ts';
import { CURRENT_SCHEMA } from './current-schema.ts';
import { type Db, exec, many, raw, sql } from './query.ts';
import { transactionUnlessLocked } from './transaction.ts';
import { DAY_MS } from '../lib/time.ts';

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

/** Lists the days that have partitions and ended before `before`, the oldest first. */
export async function listEndedDays(db: Db, before: Date): Promise<Date[]> {
  const starts = [...(await listPartitions(db))].flatMap((name) => dayOf(name)?.getTime() ?? []);
  const ended = new Set(starts.filter((start) => start + DAY_MS <= before.getTime()));
  return [...ended].toSorted((a, b) => a - b).map((start) => new Date(start));
}

/**
 * Drops the partitions of a day: those of the messages first, so that no message without its state is mistaken for a
 * waiting one. Each has its own transaction, since together their locks could deadlock with those of a reader.
 *
 * @returns false if a long-running reader of one of the tables prevented it, so that it must be retried later
 */
export async function dropDay(pool: Pool, day: Date): Promise<boolean> {
  for (const table of Object.keys(DAY_TABLES)) {
    const drop = raw(`DROP TABLE IF EXISTS ${partitionName(table, day)}`);
    if ((await transactionUnlessLocked(pool, (tx) => exec(tx, drop))) === null) return false;
  }
  return true;
}
