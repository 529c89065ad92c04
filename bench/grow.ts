import type { Pool } from 'pg';
import type { Report } from './lib/report.ts';
import { openStage, sendBulk, type Stage } from './lib/stage.ts';
import { p99 } from './lib/times.ts';

const MESSAGES = 100_000;
const STORED = Number(process.argv[3] ?? 5_000_000);
const ROWS_PER_STATEMENT = 250_000;
const LOOK_UPS = 2_000;

/** The engine with five million stored messages, compared with the same engine on an empty database. */
export async function benchGrow(): Promise<Report> {
  await using stage = await openStage();
  const empty = await sendBulk(stage, MESSAGES);
  const fewP99Ms = await lookUpP99Ms(stage);
  await fill(stage.pool, STORED);
  const full = await sendBulk(stage, MESSAGES);
  const manyP99Ms = await lookUpP99Ms(stage);
  return {
    name: 'grow',
    ratio: empty.seconds / full.seconds,
    target: 0.8,
    figures: {
      stored: STORED,
      emptyPerSecond: Math.round(MESSAGES / empty.seconds),
      fullPerSecond: Math.round(MESSAGES / full.seconds),
      lookUpP99MsFew: fewP99Ms,
      lookUpP99MsMany: manyP99Ms,
      lookUpRatio: manyP99Ms / fewP99Ms,
      lookUpRatioTarget: 1.5,
      gatewayPeakMb: stage.gateway.peakMb(),
    },
  };
}

/** Stores messages that were delivered today, with ids in order, as if they had been sent. */
async function fill(pool: Pool, rows: number): Promise<void> {
  const client = await pool.connect();
  await client.query('SET statement_timeout = 0');
  for (let done = 0; done < rows; done += ROWS_PER_STATEMENT) {
    await client.query(
      `WITH ids AS MATERIALIZED (SELECT uuidv7(interval '-1 minute') AS id, n FROM generate_series(1, $1::int) AS n),
       messages AS (
         INSERT INTO message (account_id, id, channel, source, simulation, connection_id, sender, destination, body, parts,
                              want_receipt)
         SELECT 1, id, 'SMS', 'API', false, 1, 'Heliograph', '+3933' || (10000000 + n), 'Stored before the bench', 1, true
         FROM ids)
       INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, done_at,
                                  updated_at)
       SELECT 1, id, 3, 1, 1, 'stored-' || ($2::int + n), now(), now(), now() FROM ids`,
      [Math.min(ROWS_PER_STATEMENT, rows - done), done],
    );
  }
  await client.query('VACUUM ANALYZE');
  // Writes what the filling left in memory, so that it is not part of the next measurement.
  await client.query('CHECKPOINT');
  client.release(true);
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
