import type { Pool } from 'pg';
import { firstIdAt } from '../lib/ids.ts';
import { type Db, exec, many, raw, sql } from './query.ts';
import { transaction } from './transaction.ts';
import { DAY_MS } from '../lib/time.ts';

const AHEAD_DAYS = 7;
/** Ids are made by the program's clock, which may be behind the database's at midnight. */
const BEHIND_DAYS = 1;

/**
 * Day-partitioned tables and the options of their partitions. A receipt brings its words, so that the new version of a
 * row is twice as long as the old one: on pages filled to 30 % all such updates stay HOT, on half-full ones 47 %, at three
 * times the CPU or more.
 */
export const DAY_TABLES: Readonly<Record<string, string>> = {
  message: '',
  message_state:
    'WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)',
  message_part: 'WITH (fillfactor = 30)',
  message_event: '',
  // A row is written once unless its event fails.
  webhook_delivery: '',
};

export const dayName = (table: string, day: Date): string =>
  `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;

function createPartition(table: string, day: Date): string {
  const next = new Date(day.getTime() + DAY_MS);
  return `CREATE TABLE IF NOT EXISTS ${dayName(table, day)} PARTITION OF ${table}
    FOR VALUES FROM ('${firstIdAt(day)}') TO ('${firstIdAt(next)}') ${DAY_TABLES[table]}`;
}

async function listPartitions(db: Db): Promise<Set<string>> {
  const rows = await many<{ name: string }>(
    db,
    sql`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid`,
  );
  return new Set(rows.map((row) => row.name));
}

/**
 * Makes sure that every day-partitioned table has its partitions from yesterday to a week ahead. Called at every
 * start and each hour; safe to call from several processes at once (advisory lock).
 *
 * @returns how many were made
 */
export async function ensurePartitions(db: Db, now: Date): Promise<number> {
  const today = Math.floor(now.getTime() / DAY_MS);
  const days = Array.from(
    { length: AHEAD_DAYS + BEHIND_DAYS + 1 },
    (_, i) => new Date((today - BEHIND_DAYS + i) * DAY_MS),
  );
  const existing = await listPartitions(db);
  const missing = Object.keys(DAY_TABLES).flatMap((table) =>
    days.filter((day) => !existing.has(dayName(table, day))).map((day) => createPartition(table, day)),
  );
  if (missing.length > 0)
    await exec(db, raw(`DO $$ BEGIN PERFORM pg_advisory_xact_lock(724906);\n${missing.join(';\n')};\nEND $$`));
  return missing.length;
}

/** Midnight UTC, where the day begins; undefined for what is no partition of a day. */
function dayOf(name: string): Date | undefined {
  const [, table = '', year, month, day] = /^(.+)_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
  return table in DAY_TABLES ? new Date(`${year}-${month}-${day}T00:00:00Z`) : undefined;
}

/** The days that have partitions and ended before `before`, the oldest first. */
export async function listEndedDays(db: Db, before: Date): Promise<Date[]> {
  const starts = [...(await listPartitions(db))].flatMap((name) => dayOf(name)?.getTime() ?? []);
  const ended = new Set(starts.filter((start) => start + DAY_MS <= before.getTime()));
  return [...ended].toSorted((a, b) => a - b).map((start) => new Date(start));
}

/** Dropping one waits for whoever reads the table, and meanwhile everybody else waits behind it. */
const DROP_WAIT = '200ms';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Drops the partitions of a day: of the messages first, so that nobody takes one for a message that waits. Each in a
 * transaction of its own, since together their locks could make a circle with those of a reader.
 *
 * @returns false when somebody reads one of the tables for so long that it has to be tried again later
 */
export async function dropDay(pool: Pool, day: Date): Promise<boolean> {
  try {
    for (const table of Object.keys(DAY_TABLES))
      await transaction(pool, async (tx) => {
        await exec(tx, raw(`SET LOCAL lock_timeout = '${DROP_WAIT}'`));
        await exec(tx, raw(`DROP TABLE IF EXISTS ${dayName(table, day)}`));
      });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}
