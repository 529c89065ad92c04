import type { Pool } from 'pg';
import { always, createSignal, every, type Task } from './background.ts';
import { bigint, input, insertRows, json, text, timestamptz, uuid } from './db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, type Sql, sql, textArray } from './db/query.ts';
import { isOwnerAlive } from './db/worker-session.ts';
import { firstIdAt, newId } from './ids.ts';
import type { Log } from './log.ts';
import { MINUTE_MS, SECOND_MS } from './time.ts';

/** A job that a worker has claimed. */
export type Job<P> = {
  /** UUIDv7: contains the time at which the job was added. */
  readonly id: string;
  readonly accountId: number;
  readonly payload: P;
  /** Number of this try, from 1 on. */
  readonly tries: number;
  /** Aborted when the worker stops: the job is then free for another one, and this try does not count. */
  readonly signal: AbortSignal;
  /**
   * Ends the job in the transaction of its work, so that both happen once. Returns false if the job was replaced or
   * belongs to another worker by now: then the transaction must write nothing.
   */
  end(tx: Db): Promise<boolean>;
};

/** Result of a try that does not end its job. `retry`: counts as a try; `again`: the first try of the next round. */
export type Outcome<P> =
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'again'; readonly inMs: number; readonly payload: P };

/** Does the work of a job. The job is deleted when it resolves, and retried with increasing waits when it rejects. */
export type Handler<P, D> = (deps: D, job: Job<P>) => Promise<Outcome<P> | undefined | void>;

type Options = {
  /** Tries after which a job is dropped, with an error in the log. Default: no limit. */
  readonly tries?: number;
  /** Jobs that one worker runs at the same time. Default: 5. */
  readonly concurrency?: number;
  /** Jobs of one account that one worker runs at the same time. Default: `concurrency`. */
  readonly perAccount?: number;
  /** True if jobs wait while sending is paused, because a copy of this database must not repeat them. */
  readonly pausable?: boolean;
  /** True if the jobs of suspended accounts wait. */
  readonly activeOnly?: boolean;
  /** Age at which jobs are too late to help, and deleted. */
  readonly maxAgeMs?: number;
};

type NewJob<P> = {
  readonly accountId: number;
  readonly payload: P;
  /** At most one job of a kind has this key: another one replaces it, also while it runs. Null: any number. */
  readonly key: string | null;
  /** Default: immediately. */
  readonly runAt?: Date;
};

export type Runnable = {
  readonly kind: string;
  readonly options: Options;
  run(job: Job<unknown>): Promise<Outcome<unknown> | undefined | void>;
};

type Keys = { readonly accountId: number; readonly keys: readonly string[] };

type Kind<P, D> = {
  readonly kind: string;
  /** Adds jobs in the transaction of their cause, and wakes the workers when it is committed. Keys may occur once. */
  add(tx: Db, ...jobs: readonly NewJob<P>[]): Promise<void>;
  /** Deletes jobs that no worker has begun. Returns their number. */
  cancel(tx: Db, jobs: Keys): Promise<number>;
  /** Deletes jobs, also those that run: their `end` then returns false. Returns their number. */
  drop(tx: Db, jobs: Keys): Promise<number>;
  using(deps: D): Runnable;
};

/** Declares a kind of background work. `src/worker.ts` lists those that workers run. */
export const job = <P, D>(kind: string, options: Options, handler: Handler<P, D>): Kind<P, D> => ({
  kind,
  async add(tx, ...jobs) {
    if (jobs.length > 0)
      await insertJobs(
        tx,
        jobs.map((one) => ({ ...one, kind })),
      );
  },
  cancel: (tx, jobs) => deleteKeyed(tx, { ...jobs, kind }, sql`owner IS NULL AND tries = 0`),
  drop: (tx, jobs) => deleteKeyed(tx, { ...jobs, kind }, sql`true`),
  // Only `add` writes payloads of this kind.
  using: (deps) => ({ kind, options, run: (claimed) => handler(deps, claimed as Job<P>) }),
});

type RunnerDeps = {
  readonly pool: Pool;
  /** The advisory lock key of this worker: its jobs are free when it dies. */
  readonly owner: number;
  readonly jobs: readonly Runnable[];
  readonly paused: () => boolean;
  readonly log: Log;
};

/** Interval of the check for jobs that are due without a notification, and for those of dead workers. */
const POLL_MS = 5 * SECOND_MS;
/** Wait while jobs are due whose accounts have all they may have. */
const BLOCKED_MS = SECOND_MS;
const SHORTEST_WAIT_MS = 20;
const CONCURRENCY = 5;
const FIRST_RETRY_MS = 2 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;

/** The jobs of one kind that run here, and the accounts that had a turn, the last one at the end. */
type Lane = Runnable & { readonly running: Map<string, number>; readonly served: Set<number> };

/** Number of accounts that are remembered, to give others their turn first. */
const MAX_SERVED = 1000;

/** Creates the part of a worker that runs jobs. Any number of workers may run the same kinds. */
export function createJobRunner({ pool, owner, jobs, paused, log }: RunnerDeps) {
  const lanes = new Map<string, Lane>(jobs.map((one) => [one.kind, { ...one, running: new Map(), served: new Set() }]));
  const underWay = new Set<Promise<void>>();
  const ended = createSignal();
  const stopping = new AbortController();
  let releasedAt = Number.NEGATIVE_INFINITY;

  const roomOf = ({ options, running }: Lane): number =>
    options.pausable && paused() ? 0 : (options.concurrency ?? CONCURRENCY) - running.size;

  /** Runs a job and records the result. A job that has used up its tries, as when each ended its worker, is dropped. */
  async function attempt(lane: Lane, claimed: ClaimedJob): Promise<void> {
    const { id, accountId, tries } = claimed;
    const most = lane.options.tries ?? Number.POSITIVE_INFINITY;
    const end = async (tx: Db): Promise<boolean> => (await deleteJob(tx, { id, owner })) === 1;
    const outcome =
      tries > most
        ? undefined
        : await lane.run({ ...claimed, signal: stopping.signal, end }).catch((err: unknown) => {
            if (stopping.signal.aborted) return { kind: 'again' as const, inMs: 0, payload: claimed.payload };
            log.error({ err, task: lane.kind, accountId, attempt: tries }, 'a job failed');
            return { kind: 'retry' as const, inMs: Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1)) };
          });
    if (outcome?.kind === 'again')
      await updateJob(pool, { id, owner, ...outcome, tries: stopping.signal.aborted ? tries - 1 : 0 });
    else if (outcome && tries < most) await updateJob(pool, { ...claimed, owner, inMs: outcome.inMs });
    else await deleteJob(pool, { id, owner });
  }

  function start(lane: Lane, claimed: ClaimedJob): void {
    const { id, accountId } = claimed;
    lane.running.set(id, accountId);
    noteTurn(lane.served, accountId);
    const work = attempt(lane, claimed)
      // The database is unavailable. The job still belongs to this worker, which releases it later.
      .catch((err: unknown) => log.error({ err, task: lane.kind, accountId }, 'a job could not be ended'))
      .finally(() => {
        lane.running.delete(id);
        underWay.delete(work);
        ended.raise();
      });
    underWay.add(work);
  }

  async function startDue(lane: Lane): Promise<number> {
    const { kind, options, running, served } = lane;
    const perAccount = options.perAccount ?? options.concurrency ?? CONCURRENCY;
    const accounts = {
      running: [...running.values()],
      served: [...served],
      perAccount,
      activeOnly: isActiveOnly(lane),
    };
    const claimed = await claimJobs(pool, { kind, owner, limit: roomOf(lane), ...accounts });
    for (const one of claimed) start(lane, one);
    return claimed.length;
  }

  return {
    /** Raised when a job has ended, so that there is room for another one. */
    ended,
    /** Starts the jobs that are due, and returns the ms until it must run again. One caller at a time. */
    async work(): Promise<number> {
      if (performance.now() - releasedAt >= POLL_MS) {
        await moveToFree(pool, { owner, running: [...lanes.values()].flatMap(({ running }) => [...running.keys()]) });
        releasedAt = performance.now();
      }
      const open = [...lanes.values()].filter((lane) => roomOf(lane) > 0);
      let waitMs = POLL_MS;
      let started = 0;
      for (const { kind, ms } of await listNext(
        pool,
        open.map((lane) => ({ kind: lane.kind, activeOnly: isActiveOnly(lane) })),
      )) {
        const lane = lanes.get(kind);
        const count = ms <= 0 && lane ? await startDue(lane) : 0;
        started += count;
        waitMs = Math.min(waitMs, ms > 0 ? Math.max(SHORTEST_WAIT_MS, ms) : BLOCKED_MS);
      }
      return started > 0 ? 0 : waitMs;
    },
    running: () => underWay.size,
    /** Resolves when the jobs that run here have ended. */
    idle: (): Promise<unknown> => Promise.all(underWay),
    /** Aborts the jobs that run here, and resolves when they have ended. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(underWay);
    },
  };
}

const isActiveOnly = ({ options }: Runnable): boolean => options.activeOnly ?? false;

function noteTurn(served: Set<number>, accountId: number): void {
  served.delete(accountId);
  served.add(accountId);
  const [oldest] = served;
  if (served.size > MAX_SERVED && oldest !== undefined) served.delete(oldest);
}

/** Runs jobs, and deletes those that are too late to help. */
export function jobTasks(deps: RunnerDeps): Task[] {
  const { work, ended, stop } = createJobRunner(deps);
  const deleteOld = async (): Promise<void> => {
    for (const { kind, options } of deps.jobs)
      if (options.maxAgeMs !== undefined)
        await deleteOldJobs(deps.pool, { kind, beforeId: firstIdAt(new Date(Date.now() - options.maxAgeMs)) });
  };
  return [
    {
      name: 'jobs',
      work,
      wakeOn: { [JOBS_CHANNEL]: always },
      signal: ended,
      close: stop,
    },
    { name: 'old jobs', work: every(10 * MINUTE_MS, deleteOld) },
  ];
}

/** The NOTIFY channel that wakes workers for new jobs. */
export const JOBS_CHANNEL = 'heliograph_jobs';

const insertJobs = async (db: Db, jobs: readonly (NewJob<unknown> & { readonly kind: string })[]): Promise<void> => {
  const rows = jobs.map(({ payload, runAt = null, ...row }) => ({
    id: newId(),
    kind: row.kind,
    accountId: row.accountId,
    key: row.key,
    runAt,
    payload: JSON.stringify(payload),
  }));
  await exec(
    db,
    sql`WITH added AS (
          ${insertRows(
            'job',
            rows,
            { id: uuid, kind: text, accountId: bigint, key: text, runAt: input(timestamptz), payload: input(json) },
            { payload: sql`u.payload::jsonb`, run_at: sql`coalesce(u.run_at, now())` },
          )}
          ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, account_id = excluded.account_id,
            payload = excluded.payload, run_at = excluded.run_at, tries = 0, owner = NULL
          RETURNING run_at)
        SELECT pg_notify(${JOBS_CHANNEL}, '') WHERE EXISTS (
          SELECT FROM added WHERE run_at < now() + ${POLL_MS} * interval '1 millisecond')`,
  );
};

const JOB = columns({
  id: as<string>('j.id'),
  accountId: as<number>('j.account_id'),
  payload: as<unknown>('j.payload'),
  tries: as<number>('j.tries'),
});
type ClaimedJob = RowOf<typeof JOB>;

/** The condition for the account of a job `j` that may run. */
const mayRun = (activeOnly: Sql): Sql =>
  sql`(NOT ${activeOnly} OR EXISTS (SELECT FROM account k WHERE k.id = j.account_id AND k.status = 'active'))`;

type Claim = {
  readonly kind: string;
  readonly owner: number;
  readonly limit: number;
  readonly activeOnly: boolean;
  /** The account of each job of this kind that runs here. */
  readonly running: readonly number[];
  readonly served: readonly number[];
  readonly perAccount: number;
};

/**
 * Claims due jobs of a kind, with accounts in turn: each gets one before any gets a second one, and those that have had
 * no turn lately come first. Of one account, the job that has waited longest is first.
 */
const claimJobs = (db: Db, claim: Claim): Promise<ClaimedJob[]> => {
  const { kind, owner, limit, running, served, perAccount } = claim;
  const due = sql`j.kind = ${kind} AND j.owner IS NULL AND j.run_at <= now() AND ${mayRun(sql`${claim.activeOnly}::bool`)}`;
  return many(
    db,
    sql`WITH RECURSIVE due_account AS (
          (SELECT j.account_id FROM job j WHERE ${due} ORDER BY j.account_id LIMIT 1)
          UNION ALL
          SELECT n.account_id FROM due_account d CROSS JOIN LATERAL (
            SELECT j.account_id FROM job j WHERE ${due} AND j.account_id > d.account_id
            ORDER BY j.account_id LIMIT 1) AS n),
        busy AS (SELECT account_id, count(*) AS jobs FROM unnest(${plainArray(running)}::bigint[]) AS r (account_id) GROUP BY 1),
        first AS (
          SELECT w.id, w.run_at, coalesce(b.jobs, 0) + w.place AS place,
                 coalesce(array_position(${plainArray(served)}::bigint[], d.account_id), 0) AS turn
          FROM due_account d LEFT JOIN busy b USING (account_id) CROSS JOIN LATERAL (
            SELECT j.id, j.run_at, row_number() OVER (ORDER BY j.run_at) AS place FROM job j
            WHERE ${due} AND j.account_id = d.account_id ORDER BY j.run_at LIMIT ${perAccount}) AS w
          WHERE coalesce(b.jobs, 0) + w.place <= ${perAccount}
          ORDER BY place, turn, w.run_at LIMIT ${limit}),
        free AS MATERIALIZED (
          SELECT j.id FROM job j JOIN first f ON f.id = j.id WHERE j.owner IS NULL AND j.run_at <= now()
          ORDER BY f.place, f.turn, f.run_at FOR UPDATE OF j SKIP LOCKED)
        UPDATE job j SET owner = ${owner}, tries = j.tries + 1 FROM free WHERE j.id = free.id RETURNING ${JOB}`,
  );
};

/** Lists the ms until the next job of each of these kinds that has any is due; negative if it is late. */
const listNext = (
  db: Db,
  kinds: readonly { readonly kind: string; readonly activeOnly: boolean }[],
): Promise<{ kind: string; ms: number }[]> =>
  many(
    db,
    sql`SELECT k.kind, (extract(epoch FROM n.run_at - now()) * 1000)::float8 AS ms
        FROM unnest(${textArray(kinds.map(({ kind }) => kind))}::text[],
                    ${plainArray(kinds.map(({ activeOnly }) => activeOnly))}::bool[]) AS k (kind, active_only)
        CROSS JOIN LATERAL (SELECT j.run_at FROM job j
          WHERE j.kind = k.kind AND j.owner IS NULL AND ${mayRun(sql`k.active_only`)}
          ORDER BY j.run_at LIMIT 1) AS n`,
  );

type Key = { readonly id: string; readonly owner: number };

const updateJob = (
  db: Db,
  { id, owner, inMs, tries, payload }: Key & { inMs: number; tries: number; payload: unknown },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE job SET owner = NULL, tries = ${tries}, payload = ${JSON.stringify(payload)}::jsonb,
          run_at = now() + ${inMs} * interval '1 millisecond' WHERE id = ${id} AND owner = ${owner}`,
  );

/** Deletes a job. Returns 0 when it belongs to another worker or was replaced. */
const deleteJob = (db: Db, { id, owner }: Key): Promise<number> =>
  exec(db, sql`DELETE FROM job WHERE id = ${id} AND owner = ${owner}`);

/** Frees the jobs of dead workers, and those of `owner` that do not run: their end could not be recorded. */
const moveToFree = (db: Db, { owner, running }: { owner: number; running: readonly string[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE job j SET owner = NULL FROM (
          SELECT id FROM job WHERE owner IS NOT NULL AND CASE WHEN owner = ${owner}
            THEN id <> ALL(${plainArray(running)}::uuid[]) ELSE NOT ${isOwnerAlive(sql`owner`)} END
          FOR UPDATE SKIP LOCKED) AS f WHERE j.id = f.id`,
  );

const deleteKeyed = (
  db: Db,
  { kind, accountId, keys }: Keys & { readonly kind: string },
  condition: Sql,
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM job
        WHERE kind = ${kind} AND account_id = ${accountId} AND key = ANY (${keys}::text[]) AND ${condition}`,
  );

const deleteOldJobs = (db: Db, { kind, beforeId }: { kind: string; beforeId: string }): Promise<number> =>
  exec(db, sql`DELETE FROM job WHERE kind = ${kind} AND id < ${beforeId}::uuid`);

/** Counts the due jobs of each kind that has any. */
export const countDueJobs = (db: Db): Promise<{ kind: string; count: number }[]> =>
  many(db, sql`SELECT kind, count(*) AS count FROM job WHERE run_at <= now() GROUP BY kind ORDER BY kind`);
