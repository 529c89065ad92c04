import { createPastDayIndexer, ensurePartitions } from '../src/core/db/partitions.ts';
import { DAY_MS } from '../src/core/time.ts';
import { startGateway } from './lib/backend.ts';
import { type Costs, costFigures, countCosts, cpuMicrosOf, memoryFigures } from './lib/costs.ts';
import { fillHistory } from './lib/fill-history.ts';
import type { Report } from './lib/report.ts';
import { openStage, type Stage, sendBulk } from './lib/stage.ts';
import { p99, timeFigures } from './lib/times.ts';

const MESSAGES = 100_000;
const ROUNDS = 2;
const STORED = Number(process.argv[3] ?? 1_000_000);
/** Everything was sent today, where it would else be spread over 30 days. */
const ONE_DAY = process.argv.includes('--one-day');
const DAYS = ONE_DAY ? 1 : 30;
const LOOK_UPS = 2_000;
const READS = 20;

/**
 * The warm engine with many stored messages, compared with the same engine on a nearly empty database. Also measures
 * status look-ups on both, and on the full one how long the program takes to start, and a page of the history of today
 * for statuses that few messages have. `grow 10000000 --one-day` stores ten million messages of one day.
 */
export async function benchGrow(): Promise<Report> {
  await using stage = await openStage();
  await sendBulk(stage, MESSAGES);
  const empty = await measure(stage);
  const fewP99Ms = await lookUpP99Ms(stage);
  await fill(stage);
  await sendBulk(stage, MESSAGES);
  const full = await measure(stage);
  const manyP99Ms = await lookUpP99Ms(stage);
  const pages = await readPages(stage);
  const memory = memoryFigures(stage);
  const startSeconds = await startAgain(stage);
  return {
    name: 'grow',
    ratio: full.perSecond / empty.perSecond,
    target: 0.9,
    figures: {
      stored: STORED,
      days: DAYS,
      emptyPerSecond: Math.round(empty.perSecond),
      fullPerSecond: Math.round(full.perSecond),
      cpuToEmpty: cpuMicrosOf(full.costs) / cpuMicrosOf(empty.costs),
      ...costFigures('empty', empty.costs),
      ...costFigures('full', full.costs),
      ...memory,
      lookUpP99MsFew: fewP99Ms,
      lookUpP99MsMany: manyP99Ms,
      lookUpRatio: manyP99Ms / fewP99Ms,
      lookUpRatioTarget: 1.5,
      ...pages,
      pageTargetMs: 200,
      startSeconds,
      startTargetSeconds: 5,
    },
  };
}

type Measured = { readonly perSecond: number; readonly costs: Costs };

async function measure(stage: Stage): Promise<Measured> {
  const costsOf = await countCosts(stage);
  let all = 0;
  for (let round = 0; round < ROUNDS; round++) all += (await sendBulk(stage, MESSAGES)).seconds;
  return { perSecond: (ROUNDS * MESSAGES) / all, costs: await costsOf(ROUNDS * MESSAGES) };
}

async function fill({ pool, db, accountId }: Stage): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const days = Array.from({ length: DAYS }, (_, i) => new Date(today - (DAYS - 1 - i) * DAY_MS));
  for (const day of days) {
    await ensurePartitions(pool, day);
    await fillHistory(db, { accountId, day, messages: Math.ceil(STORED / DAYS) });
  }
  await db.query('VACUUM (ANALYZE) message, message_state');
  // As the worker does every hour.
  await createPastDayIndexer(pool).work(new Date());
  // Writes what the filling left in memory, so that it is not part of the next measurement.
  await db.query('CHECKPOINT');
}

/** The p99 of status look-ups through HTTP, one after the other, of random messages of the table. */
async function lookUpP99Ms({ pool, time }: Stage): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM message TABLESAMPLE BERNOULLI (100.0 * least(1, $1::float8 / (SELECT count(*) FROM message))) LIMIT $1`,
    [LOOK_UPS],
  );
  const times: number[] = [];
  for (const { id } of rows) times.push(await time(`/messages/status/${id}`));
  return p99(times);
}

/** Reads pages of the day that is still written to; `fillHistory` says how rare these statuses are. */
async function readPages({ time }: Stage): Promise<Record<string, number>> {
  const to = new Date();
  const from = new Date(Math.floor(to.getTime() / DAY_MS) * DAY_MS);
  const figures: Record<string, number> = {};
  for (const status of ['DELIVERED', 'UNDELIVERABLE', 'EXPIRED', 'DELETED', 'DISABLED']) {
    const query = new URLSearchParams({ channel: 'SMS', status, from: from.toISOString(), to: to.toISOString() });
    const times: number[] = [];
    for (let n = 0; n < READS; n++) times.push(await time(`/messages/history?${query}`));
    Object.assign(figures, timeFigures(`page.${status}`, times));
  }
  return figures;
}

/** Starts the program and its PostgreSQL again, and returns the seconds until both are ready. */
async function startAgain(stage: Stage): Promise<number> {
  await stage.stop();
  const start = performance.now();
  const gateway = await startGateway(stage.dataDir);
  const seconds = (performance.now() - start) / 1000;
  await gateway.stop();
  return seconds;
}
