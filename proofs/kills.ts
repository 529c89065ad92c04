import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { findServer } from '../src/platform/db/embedded-process.ts';
import { until } from '../test/support/until.ts';
import { waitPatiently } from './patience.ts';
import type { Process } from './processes.ts';
import { between, oneOf, type Run } from './proof.ts';
import type { Stage } from './stage.ts';

const LOOK_MS = 5;

/** Points between 2 % and 98 % of `total` at which something is killed, in order. */
export const killPoints = (run: Run, kills: number, total: number): number[] =>
  Array.from({ length: kills }, () => between(run, Math.ceil(total * 0.02), Math.floor(total * 0.98))).sort(
    (a, b) => a - b,
  );

/** Waits until the carrier has seen so many submits. False when it saw no new one for `patienceMs`. */
export const untilSubmits = ({ carrier }: Stage, count: number, patienceMs: number): Promise<boolean> =>
  waitPatiently(
    async () => {
      const { submits } = await carrier.counts();
      return { done: submits >= count, seen: submits };
    },
    { patienceMs, lookMs: LOOK_MS },
  );

/** A number of workers that stays the same: for one that is killed another one starts. */
export type Crew = {
  /** SIGKILL to one that is ready, chosen by chance; waits for one when all are starting. */
  killOne(): Promise<void>;
  readonly kills: number;
  /** Stops replacing, after those that are starting have started. */
  settled(): Promise<void>;
};

export async function startCrew(run: Run, stage: Stage, size: number): Promise<Crew> {
  const ready = new Set<Process>();
  const starting = new Set<Promise<void>>();
  let kills = 0;
  const add = (): void => {
    const start = stage
      .startWorker()
      .then((worker) => void ready.add(worker))
      .finally(() => starting.delete(start));
    starting.add(start);
  };
  for (let i = 0; i < size; i++) add();
  await Promise.all(starting);
  return {
    async killOne() {
      while (ready.size === 0) await Promise.race(starting);
      const victim = oneOf(run, [...ready]);
      ready.delete(victim);
      await victim.kill();
      kills++;
      add();
    },
    get kills() {
      return kills;
    },
    settled: async () => void (await Promise.all(starting)),
  };
}

/** SIGKILL to PostgreSQL's first process, then waits until the gateway has started it again. */
export async function killPostgres({ folder }: Run, { pool }: Stage): Promise<void> {
  const clusterDir = await realpath(join(folder, 'data', 'postgres'));
  const server = await findServer(clusterDir);
  if (!server) throw new Error('PostgreSQL does not run');
  process.kill(server.pid, 'SIGKILL');
  const answers = () => pool.query('SELECT 1').then(Boolean, () => false);
  const isBack = async () => (await findServer(clusterDir))?.pid !== server.pid && answers();
  await until('PostgreSQL after its crash', isBack, 60_000);
}

/** Ends one of the gateway's connections to PostgreSQL, chosen by chance. Answers how many were ended. */
export async function cutGateway({ pool }: Stage): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'heliograph%' ORDER BY random() LIMIT 1`,
  );
  return rowCount ?? 0;
}
