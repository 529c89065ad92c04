import { type Db, one, sql } from '../../platform/db/query.ts';

/** What the server does to keep what it has committed. */
export async function findDurability(db: Db): Promise<{ version: string; commit: string; fsync: string }> {
  return one(
    db,
    sql`SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commit,
               current_setting('fsync') AS fsync`,
  );
}

export async function findClock(db: Db): Promise<{ now: Date }> {
  return one(db, sql`SELECT clock_timestamp() AS now`);
}
