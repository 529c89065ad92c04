import type pg from 'pg';
import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import { foldTraffic } from '../src/messages/traffic.ts';
import { UNITS } from '../src/stats/stats-store.ts';
import { type Backend, openBackend } from './lib/backend.ts';
import type { Report } from './lib/report.ts';
import { allTimeFigures, p99 } from './lib/times.ts';

const CAMPAIGNS = 500;
/** The hours that one campaign sends in; each hour is counted in all of its eight rows. */
const HOURS = 25;
const MESSAGES_PER_ROW = 100;
const MESSAGES = CAMPAIGNS * HOURS * 8 * MESSAGES_PER_ROW;
const READS = Number(process.argv[3] ?? 1000);
const YEAR = 'startDate=2025-01-01&endDate=2025-12-31';
const TARGET = 20;

/**
 * Reads the first page of a year's statistics through HTTP, with campaigns in every hour of it, in turns with `SELECT
 * 1` on the same database. The roll-ups are those that the worker makes.
 */
export async function benchStats(): Promise<Report> {
  await using backend = await openBackend();
  const { db, accountId } = backend;
  await fill(db, accountId);
  await fold(backend.connectionString);
  await db.query('VACUUM (ANALYZE) traffic_hour, traffic_day, campaign, campaign_run');
  for (const unit of UNITS.filter((name) => name !== 'hour'))
    checkSum(await read(backend, `&limit=1000&aggregateOn=${unit}`));
  const times = await measure(db, (unit) => read(backend, `&aggregateOn=${unit}`));
  const slowest = Math.max(...UNITS.map((unit) => p99(times[unit])));
  const ratio = slowest / p99(times.selectOne);
  return {
    name: 'stats',
    ratio: TARGET / ratio,
    target: 1,
    figures: {
      messages: MESSAGES,
      campaigns: CAMPAIGNS,
      reads: READS,
      slowestTimesSelectOne: ratio,
      ...allTimeFigures(times),
    },
  };
}

/** Fills 2025 evenly, so that campaigns overlap and no hour is empty. */
async function fill(db: pg.Client, accountId: number): Promise<void> {
  await db.query(
    `WITH made AS (
       INSERT INTO campaign (account_id, name, status, sending_mode, created_at, confirmed_at, started_at)
       SELECT $1, 'Campaign ' || n, 3, (ARRAY['SMS', 'RCS', 'WHATSAPP', 'RCS_SMS'])[1 + n % 4], at, at, at
       FROM (SELECT n, '2025-01-01Z'::timestamptz + (n * ${8760 - HOURS} / ${CAMPAIGNS}) * interval '1 hour' AS at
             FROM generate_series(0, ${CAMPAIGNS - 1}) AS n) AS year
       RETURNING account_id, id, started_at)
     INSERT INTO campaign_run (account_id, campaign_id, recipients, skipped) SELECT account_id, id, 20000, 50 FROM made`,
    [accountId],
  );
  await db.query(
    `INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, sent, delivered, read, failed, cost_micros)
     SELECT c.account_id, c.started_at + h * interval '1 hour', c.id,
       CASE c.sending_mode WHEN 'WHATSAPP' THEN 4 WHEN 'SMS' THEN 1 ELSE 2 END, s, $2::int, $2::int - 8, 30, 5, $2::int * 45000
     FROM campaign c, generate_series(0, ${HOURS - 1}) AS h, generate_series(0, 7) AS s WHERE c.account_id = $1`,
    [accountId, MESSAGES_PER_ROW],
  );
}

async function fold(connectionString: string): Promise<void> {
  const pool = createPool(connectionString, { max: 1, applicationName: 'bench', log: silentLog });
  while ((await foldTraffic(pool, () => new Date())) > 0);
  await pool.end();
}

type Unit = (typeof UNITS)[number];
type Times = Record<Unit | 'selectOne', number[]>;

type Buckets = readonly { readonly sent: number }[];

async function read({ call }: Backend, query: string): Promise<Buckets> {
  const { data } = await call<{ data: Buckets }>('GET', `/campaigns/stats?${YEAR}${query}`);
  if (data.length === 0) throw new Error(`no buckets for ${query}`);
  return data;
}

function checkSum(buckets: Buckets): void {
  const sent = buckets.reduce((sum, bucket) => sum + bucket.sent, 0);
  if (sent !== MESSAGES) throw new Error(`${sent} of ${MESSAGES} messages are counted`);
}

/** Measures in turns, so that all are measured under the same load. */
async function measure(db: pg.Client, ask: (unit: Unit) => Promise<unknown>): Promise<Times> {
  const times: Times = { selectOne: [], hour: [], day: [], week: [], month: [] };
  const timed = async (name: keyof Times, work: () => Promise<unknown>, keep: boolean): Promise<void> => {
    const start = performance.now();
    await work();
    if (keep) times[name].push(performance.now() - start);
  };
  for (let i = -50; i < READS; i++) {
    await timed('selectOne', () => db.query('SELECT 1'), i >= 0);
    for (const unit of UNITS) await timed(unit, () => ask(unit), i >= 0);
  }
  return times;
}
