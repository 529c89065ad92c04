import { as, columns, type RowOf } from './select.ts';
import { type Db, many, one, sql } from './query.ts';

const WRITABILITY = columns({
  readOnly: as<boolean>("current_setting('transaction_read_only') = 'on'"),
  waitingCommits: as<number>(`(SELECT count(*) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '2 seconds')`),
});
/**
 * State of writes: true if the server takes them, and the number of commits that have waited for a standby for more
 * than two seconds.
 */
export type Writability = RowOf<typeof WRITABILITY>;

/** Checks that writes go through: to its client, a commit that waits for a standby looks like a slow one. */
export const findWritability = (db: Db): Promise<Writability> => one(db, sql`SELECT ${WRITABILITY}`);

const STANDBY = columns({
  name: as<string>('application_name'),
  /** Null without the rights of pg_monitor. */
  synchronous: as<boolean | null>("sync_state IN ('sync', 'quorum')"),
  lagSeconds: as<number>('coalesce(extract(epoch FROM replay_lag), 0)::float8'),
});
/** A connected standby. */
export type Standby = RowOf<typeof STANDBY>;

/** Lists the standbys that stream from this server. */
export const listStandbys = (db: Db): Promise<Standby[]> =>
  many(db, sql`SELECT ${STANDBY} FROM pg_stat_replication ORDER BY application_name`);

const REPLAY = columns({
  isStandby: as<boolean>('pg_is_in_recovery()'),
  // The time since the last commit says nothing about a standby that has replayed everything that it received.
  lagSeconds: as<number>(`CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
    ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) END::float8`),
});

/** Finds the role of this server, standby or not, and its lag behind the changes that it has received. */
export const findReplayLag = (db: Db): Promise<RowOf<typeof REPLAY>> => one(db, sql`SELECT ${REPLAY}`);

/** Finds the setting that names the standbys a commit waits for; empty if it waits for none. */
export const findSynchronousNames = (db: Db): Promise<{ names: string }> =>
  one(db, sql`SELECT current_setting('synchronous_standby_names') AS names`);

/** Finds the position up to which the primary has written its WAL. */
export const findPosition = (db: Db): Promise<{ lsn: string }> =>
  one(db, sql`SELECT pg_current_wal_lsn()::text AS lsn`);

/** Counts which of these positions of the primary a standby has replayed; none on a server that is not a standby. */
export const countReplayed = (db: Db, { lsns }: { readonly lsns: readonly string[] }): Promise<{ replayed: number }> =>
  one(
    db,
    sql`SELECT count(*) AS replayed FROM unnest(${lsns}::pg_lsn[]) AS lsn
        WHERE pg_is_in_recovery() AND lsn <= pg_last_wal_replay_lsn()`,
  );
