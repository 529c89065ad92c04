import { type Db, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** Finds the version of the server and the settings that decide whether commits survive a power loss. */
export async function findDurability(db: Db): Promise<{ version: string; commit: string; fsync: string }> {
  return one(
    db,
    sql`SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commit,
               current_setting('fsync') AS fsync`,
  );
}

/** Finds the time of the database server. */
export async function findClock(db: Db): Promise<{ now: Date }> {
  return one(db, sql`SELECT clock_timestamp() AS now`);
}

const ARCHIVING = columns({
  enabled: as<boolean>("current_setting('archive_mode') <> 'off'"),
  /** The last segment that was archived. */
  segment: as<string | null>('last_archived_wal'),
  at: as<Date | null>('last_archived_time'),
  /** The segment that could not be archived, since the last one that was. */
  failing: as<string | null>(
    "CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN last_failed_wal END",
  ),
});
/** What a server says of its archive. */
export type Archiving = RowOf<typeof ARCHIVING>;

/** Finds whether the server archives its WAL, and how that went last. */
export const findArchiving = (db: Db): Promise<Archiving> => one(db, sql`SELECT ${ARCHIVING} FROM pg_stat_archiver`);

const ALERT_TARGETS = columns({
  all: as<number>('count(*)'),
  byMail: as<number>("count(*) FILTER (WHERE kind <> 'webhook')"),
  failing: as<number>('count(failing_since)'),
});

/** Counts the recipients of alerts, those who are told by mail, and those who could not be told last. */
export const countAlertTargets = (db: Db): Promise<RowOf<typeof ALERT_TARGETS>> =>
  one(db, sql`SELECT ${ALERT_TARGETS} FROM alert_target`);
