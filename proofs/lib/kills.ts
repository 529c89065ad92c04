import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { findServer } from '../../src/core/db/embedded-process.ts';
import { until } from '../../test/support/until.ts';
import { pollUntilDone } from './poll.ts';
import type { Process } from './processes.ts';
import { between, oneOf, type Run } from './proof.ts';
import type { Stage } from './stage.ts';

const POLL_MS = 5;
/** The time to wait for the next submit: workers that are killed one after the other start slowly on a busy machine. */
export const NEXT_SUBMIT_MS = 120_000;

/** Returns random points between 2 % and 98 % of `total`, in order, at which something is to be killed. */
export const killPoints = (run: Run, kills: number, total: number): number[] =>
  Array.from({ length: kills }, () => between(run, Math.ceil(total * 0.02), Math.floor(total * 0.98))).sort(
    (a, b) => a - b,
  );

/** Waits until the carrier has seen `count` submits. Returns false when it has seen no new one for `stallTimeoutMs`. */
export const untilSubmits = ({ carrier }: Stage, count: number, stallTimeoutMs: number): Promise<boolean> =>
  pollUntilDone(
    async () => {
      const { submits } = await carrier.counts();
      return { done: submits >= count, progress: submits };
    },
    { stallTimeoutMs, pollMs: POLL_MS },
  );

/** A constant number of processes of one kind: each one that is killed or stopped is replaced. */
export type Crew = {
  /** Sends SIGKILL to a random process that is ready; waits for one if all are still starting. */
  killOne(): Promise<void>;
  /** The same with SIGTERM; resolves with the exit code, or null if a signal ended it. */
  stopOne(): Promise<number | null>;
  readonly kills: number;
  /** The processes that are ready. */
  readonly ready: ReadonlySet<Process>;
  /** Resolves when the processes that are starting have started; no more are added after that. */
  allStarted(): Promise<void>;
};

/** Starts `size` workers and keeps their number constant. */
export const startCrew = (run: Run, stage: Stage, size: number): Promise<Crew> =>
  startProcesses(run, size, stage.startWorker);

/**
 * Starts `size` processes with `startOne` and keeps their number constant. A process is ended only while more than `keep`
 * others are ready, however long their start takes.
 */
export async function startProcesses(
  run: Run,
  size: number,
  startOne: () => Promise<Process>,
  keep = 0,
): Promise<Crew> {
  const ready = new Set<Process>();
  const starting = new Set<Promise<void>>();
  let kills = 0;
  const add = (): void => {
    const start = startOne()
      .then((process) => void ready.add(process))
      .finally(() => starting.delete(start));
    starting.add(start);
  };
  async function replaceOne<T>(end: (victim: Process) => Promise<T>): Promise<T> {
    while (ready.size <= keep) await Promise.race(starting);
    const victim = oneOf(run, [...ready]);
    ready.delete(victim);
    const ended = await end(victim);
    add();
    return ended;
  }
  for (let i = 0; i < size; i++) add();
  await Promise.all(starting);
  return {
    async killOne() {
      await replaceOne((victim) => victim.kill());
      kills++;
    },
    stopOne: () => replaceOne((victim) => victim.stop()),
    get kills() {
      return kills;
    },
    ready,
    allStarted: async () => void (await Promise.all(starting)),
  };
}

/**
 * Sends SIGKILL to PostgreSQL's main process, then waits until the gateway has started it again. Processes of `crew` that are
 * starting get ready first: one that finds no database ends.
 */
export async function killPostgres({ folder }: Run, { pool }: Stage, crew?: Crew): Promise<void> {
  await crew?.allStarted();
  const clusterDir = await realpath(join(folder, 'data', 'postgres'));
  const server = await findServer(clusterDir);
  if (!server) throw new Error('PostgreSQL is not running');
  process.kill(server.pid, 'SIGKILL');
  const answers = () => pool.query('SELECT 1').then(Boolean, () => false);
  // Sessions of the killed server respond for some milliseconds more.
  const isBack = async () => {
    const next = await findServer(clusterDir);
    return next !== undefined && next.pid !== server.pid && answers();
  };
  await until('PostgreSQL after its crash', isBack, 60_000);
}

/**
 * Terminates a random connection of the gateway to PostgreSQL. Returns how many were terminated: 1, or 0 if there is
 * none.
 */
export async function cutGatewayConnection({ pool }: Stage): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'heliograph%' ORDER BY random() LIMIT 1`,
  );
  return rowCount ?? 0;
}
