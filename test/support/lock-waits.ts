import { type Db, one, sql } from '../../src/core/db/query.ts';

/**
 * Counts the statements on this database that wait for a lock, an advisory one included, and that begin with `like`. Test
 * files share a cluster, and `pg_locks` shows what waits in all of its databases.
 */
export async function countLockWaits(db: Db, like = ''): Promise<number> {
  const { count } = await one<{ count: number }>(
    db,
    sql`SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE ${`${like}%`}`,
  );
  return count;
}
