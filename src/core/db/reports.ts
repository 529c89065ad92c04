import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { endsWithin } from '../background.ts';
import type { Log } from '../log.ts';
import { splitHosts } from './database-url.ts';
import { createPool } from './pool.ts';
import { as, columns, type Db, many, one, type RowOf, sql } from './query.ts';
import { tenant } from './transaction.ts';

/** The result of a read, and its maximum age: undefined if it came from the primary and is up to date. */
type Report<T> = { readonly value: T; readonly ageMs: number | undefined };

/** Source of long reads that need not include the last second. */
export type Reports = {
  /**
   * Runs reads with the rights of one account: on a standby that is at most 10 seconds behind, otherwise on the
   * primary. Reads that fail on a standby, which may cancel a long one or lack a row, run once more on the primary.
   */
  read<T>(reader: { readonly accountId: number }, work: (db: Db) => Promise<T>): Promise<Report<T>>;
  close(): Promise<void>;
};

type ReportDeps = {
  readonly pool: Pool;
  readonly standbysUrl?: string | undefined;
  readonly log: Log;
};

/** Reports read less often than the program sends: a few sessions are enough. */
const POOL_MAX = 4;
const MAX_AGE_MS = 10_000;
/** Time limit for a standby to report its position, in which it may also catch up. */
const ANSWER_MS = 1000;
const AGAIN_MS = 50;
/** Time for which a standby that failed or is behind is not asked again: each request would wait for it. */
const REST_MS = 10_000;
/** The position of the primary is queried at most once in this time, for all reads together. */
const SAMPLE_MS = 1000;

type StandbyReport = { readonly pool: Pool; restsUntil: number };

/** Creates the reader of reports. Opens no connection before the first report. */
export function createReports({ pool, standbysUrl, log }: ReportDeps): Reports {
  const urls = standbysUrl === undefined ? [] : splitHosts(standbysUrl);
  const standbys = urls.map((url): StandbyReport => {
    const options = { max: POOL_MAX, applicationName: 'heliograph reports', log };
    return { pool: createPool(url, options), restsUntil: 0 };
  });
  const positions = samplePositions(pool);
  let next = 0;

  /** Returns the available standbys, each in its turn first. */
  function candidates(): StandbyReport[] {
    next = (next + 1) % Math.max(1, standbys.length);
    const now = performance.now();
    return [...standbys.slice(next), ...standbys.slice(0, next)].filter(({ restsUntil }) => restsUntil <= now);
  }

  /** Returns the maximum age of a standby's data; null if it does not respond in time or is far behind. */
  async function findAge(standby: StandbyReport): Promise<number | null> {
    const known = await positions();
    const lsns = known.map(({ lsn }) => lsn);
    const deadline = performance.now() + ANSWER_MS;
    do {
      const { replayed } = await countReplayed(standby.pool, { lsns });
      const newest = known[replayed - 1];
      if (newest !== undefined) return performance.now() - newest.at;
      await delay(AGAIN_MS);
    } while (performance.now() < deadline);
    return null;
  }

  /** Returns the age of a standby that can be read; null for one that cannot, which then rests. */
  async function findUsableAge(standby: StandbyReport): Promise<number | null> {
    let age: number | null = null;
    const asking = findAge(standby).then((found) => (age = found));
    const answered = await endsWithin(asking, ANSWER_MS).catch((err: unknown) => {
      log.warn({ err }, 'a standby cannot be read: reports are read from another server');
    });
    if (answered === true && age !== null && age <= MAX_AGE_MS) return age;
    standby.restsUntil = performance.now() + REST_MS;
    return null;
  }

  return {
    async read(reader, work) {
      for (const standby of candidates()) {
        const ageMs = await findUsableAge(standby);
        if (ageMs === null) continue;
        const report = await work(tenant(standby.pool, reader)).then(
          (value) => ({ value, ageMs }),
          () => null,
        );
        if (report !== null) return report;
      }
      return { value: await work(tenant(pool, reader)), ageMs: undefined };
    },
    close: async () => void (await Promise.all(standbys.map((standby) => standby.pool.end()))),
  };
}

type Position = { readonly at: number; readonly lsn: string };

/**
 * Returns a function that resolves with the positions of the primary within the last seconds, the oldest first: a
 * standby that has replayed one of them has everything that was committed before its time.
 */
function samplePositions(pool: Pool): () => Promise<readonly Position[]> {
  let known: readonly Position[] = [];
  let asking: Promise<readonly Position[]> | undefined;

  async function sample(): Promise<readonly Position[]> {
    const at = performance.now();
    const { lsn } = await findPosition(pool);
    known = [...known.filter((earlier) => at - earlier.at <= MAX_AGE_MS), { at, lsn }];
    return known;
  }

  return () => {
    const newest = known.at(-1);
    if (newest !== undefined && performance.now() - newest.at < SAMPLE_MS) return Promise.resolve(known);
    return (asking ??= sample().finally(() => {
      asking = undefined;
    }));
  };
}

const WRITABILITY = columns({
  readOnly: as<boolean>("current_setting('transaction_read_only') = 'on'"),
  waitingCommits: as<number>(`(SELECT count(*) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '2 seconds')`),
});
/**
 * State of writes: true if the server takes them, and the number of commits that have waited for a standby for more
 * than two seconds.
 */
type Writability = RowOf<typeof WRITABILITY>;

/** Checks that writes go through: to its client, a commit that waits for a standby looks like a slow one. */
export const findWritability = (db: Db): Promise<Writability> => one(db, sql`SELECT ${WRITABILITY}`);

const STANDBY = columns({
  name: as<string>('application_name'),
  /** Null without the rights of pg_monitor. */
  synchronous: as<boolean | null>("sync_state IN ('sync', 'quorum')"),
  lagSeconds: as<number>('coalesce(extract(epoch FROM replay_lag), 0)::float8'),
});
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
const findPosition = (db: Db): Promise<{ lsn: string }> => one(db, sql`SELECT pg_current_wal_lsn()::text AS lsn`);

/** Counts which of these positions of the primary a standby has replayed; none on a server that is not a standby. */
const countReplayed = (db: Db, { lsns }: { readonly lsns: readonly string[] }): Promise<{ replayed: number }> =>
  one(
    db,
    sql`SELECT count(*) AS replayed FROM unnest(${lsns}::pg_lsn[]) AS lsn
        WHERE pg_is_in_recovery() AND lsn <= pg_last_wal_replay_lsn()`,
  );
