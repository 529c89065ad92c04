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

const ALERT_TARGETS = columns({
  all: as<number>('count(*)'),
  byMail: as<number>("count(*) FILTER (WHERE kind <> 'webhook')"),
  failing: as<number>('count(failing_since)'),
});

/** Counts the recipients of alerts, those notified by mail, and those whose last notification failed. */
export const countAlertTargets = (db: Db): Promise<RowOf<typeof ALERT_TARGETS>> =>
  one(db, sql`SELECT ${ALERT_TARGETS} FROM alert_target`);
