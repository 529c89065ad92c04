import { type Db, exec, one, sql } from '../../query.ts';

/**
 * Keeps this session from timing out, and WAL from being removed until it ends. A checkpoint may take longer than any
 * statement of the program.
 */
export async function holdWal(session: Db): Promise<void> {
  await exec(session, sql`SET statement_timeout = 0`);
  await exec(
    session,
    sql`SELECT pg_create_physical_replication_slot('heliograph_backup_' || pg_backend_pid(), true, true)`,
  );
}

/** Begins a backup, which ends with the session. The server flushes its memory as fast as it can. */
export async function startBackup(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_backup_start('heliograph', true)`);
}

/**
 * Ends the backup of this session. Returns the content of its file `backup_label`, and the last WAL segment that it
 * needs, which is complete.
 */
export const stopBackup = (session: Db): Promise<{ label: string; lastSegment: string }> =>
  one(
    session,
    sql`SELECT labelfile AS label, pg_walfile_name(lsn) AS "lastSegment" FROM pg_backup_stop(wait_for_archive => false)`,
  );
