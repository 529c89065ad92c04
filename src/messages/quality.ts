import type { Pool } from 'pg';
import { every, type Task } from '../core/background.ts';
import { isRoutedBySender } from '../core/channels.ts';
import { bigint, insertRows, text, timestamptz, uuid } from '../core/db/columns.ts';
import { constant, type Db, exec, one, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { callingCodeOf } from '../core/phone.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import type { Result } from '../dispatch/commit.ts';
import { moveStandings } from '../routing/standings.ts';

/** Samples of a connection and country between two calls of `take`. */
const SAMPLES_PER_TAKE = 5;
/** Sampling rate of large batches: their messages are alike, and this runs for every message. */
const STRIDE = 8;
const MIN_STRIDED = 64;

export type Sampler = {
  /** Samples responses of carriers, and remembers a few. Takes some 0.2 µs per message. */
  note(results: readonly Result[]): void;
  /** Removes and returns the samples since the last call, at most five of each connection and country. */
  take(): NewSample[];
};

/** Memory for a connection and country: a random choice of all that were seen (reservoir sampling). */
type Reservoir = { seen: number; readonly samples: NewSample[] };

/**
 * Creates the memory of messages that show the quality of connections: only SMS that want a receipt and that the
 * carrier took, rejected or did not respond. Samples in memory are lost with the process, which makes a few samples
 * less.
 */
export function createSampler(now: () => Date = () => new Date()): Sampler {
  let reservoirs = new Map<string, Reservoir>();
  function add(result: Result, country: string): void {
    const { accountId, messageId, connectionId } = result;
    const key = `${connectionId}/${country}`;
    let reservoir = reservoirs.get(key);
    if (!reservoir) {
      reservoir = { seen: 0, samples: [] };
      reservoirs.set(key, reservoir);
    }
    const place = Math.floor(Math.random() * ++reservoir.seen);
    const at = reservoir.samples.length < SAMPLES_PER_TAKE ? reservoir.samples.length : place;
    if (at < SAMPLES_PER_TAKE)
      reservoir.samples[at] = { accountId, messageId, connectionId, country, answeredAt: now() };
  }
  return {
    note(results) {
      const isLarge = results.length >= MIN_STRIDED;
      const first = isLarge ? Math.floor(Math.random() * STRIDE) : 0;
      for (let i = first; i < results.length; i += isLarge ? STRIDE : 1) {
        const result = results[i];
        if (!result || !tells(result)) continue;
        const country = callingCodeOf(result.job?.destination.slice(1) ?? '');
        if (country !== null) add(result, country);
      }
    },
    take() {
      const taken = [...reservoirs.values()].flatMap(({ samples }) => samples);
      reservoirs = new Map();
      return taken;
    },
  };
}

const tells = ({ job, outcome }: Result): boolean =>
  job !== null &&
  !isRoutedBySender(job.channel) &&
  job.wantReceipt &&
  job.refusal === undefined &&
  outcome.kind !== 'retry';

/**
 * Delay from the carrier's response until a message is judged: most receipts come within seconds, and a later one is of
 * no use to a person who waits for a code.
 */
const JUDGED_AFTER_MS = 5 * MINUTE_MS;
/** Maximum samples per statement, so that it takes some 20 ms. */
const SAMPLES_PER_STATEMENT = 2000;

type QualityTaskDeps = { readonly pool: Pool; readonly sampler: Sampler; readonly now: () => Date };

/** Stores and judges samples of connections, and updates routes accordingly. */
export const qualityTasks = (deps: QualityTaskDeps): Task[] => [
  { name: 'quality samples', work: every(10 * SECOND_MS, () => storeSamples(deps)) },
  { name: 'quality', work: every(MINUTE_MS, () => rateQuality(deps)) },
];

async function storeSamples({ pool, sampler }: QualityTaskDeps): Promise<void> {
  const samples = sampler.take();
  if (samples.length > 0) await insertSamples(pool, samples);
}

/** Judges due samples, then the standing of connections. */
export async function rateQuality({ pool, now }: Omit<QualityTaskDeps, 'sampler'>): Promise<void> {
  const before = new Date(now().getTime() - JUDGED_AFTER_MS);
  while ((await judgeSamples(pool, { before, limit: SAMPLES_PER_STATEMENT })) === SAMPLES_PER_STATEMENT);
  await deleteOldQuality(pool);
  await moveStandings(pool);
}

/** A message that a carrier has responded to, to be judged later. */
type NewSample = {
  readonly accountId: number;
  readonly messageId: string;
  readonly connectionId: number;
  /** The calling code of its number. */
  readonly country: string;
  readonly answeredAt: Date;
};

/** Inserts samples; those of an outcome that is recorded a second time are there already. */
export async function insertSamples(db: Db, samples: readonly NewSample[]): Promise<void> {
  await exec(
    db,
    sql`${insertRows('quality_sample', samples, {
      accountId: bigint,
      messageId: uuid,
      connectionId: bigint,
      country: text,
      answeredAt: timestamptz,
    })} ON CONFLICT DO NOTHING`,
  );
}

/**
 * Judges up to `limit` samples whose carrier responded before `before` and adds them to the figures: a message counts as
 * delivered when it has that state by now and did not move to another connection. Returns how many there were. Several
 * workers may do it at the same time.
 */
async function judgeSamples(db: Db, { before, limit }: { before: Date; limit: number }): Promise<number> {
  const { judged } = await one<{ judged: number }>(
    db,
    sql`WITH due AS MATERIALIZED (
          SELECT account_id, message_id, connection_id FROM quality_sample WHERE answered_at < ${before}
          ORDER BY answered_at LIMIT ${limit} FOR UPDATE SKIP LOCKED),
        gone AS (
          DELETE FROM quality_sample q USING due d
          WHERE q.account_id = d.account_id AND q.message_id = d.message_id AND q.connection_id = d.connection_id
          RETURNING q.account_id, q.message_id, q.connection_id, q.country, q.answered_at),
        judged AS (
          SELECT g.connection_id, g.country,
                 to_timestamp(floor(extract(epoch FROM g.answered_at) / 600) * 600) AS slot,
                 s.status = ${constant(STATUS.DELIVERED)} AND s.connection_id = g.connection_id AS delivered,
                 greatest(0, extract(epoch FROM s.updated_at - g.answered_at) * 1000) AS receipt_ms
          FROM gone g LEFT JOIN message_state s ON s.account_id = g.account_id AND s.id = g.message_id),
        added AS (
          INSERT INTO connection_quality AS q (connection_id, country, slot, messages, delivered, receipt_ms)
          SELECT connection_id, country, slot, count(*), count(*) FILTER (WHERE delivered),
                 coalesce(sum(receipt_ms) FILTER (WHERE delivered), 0)::bigint
          FROM judged GROUP BY connection_id, country, slot ORDER BY connection_id, country, slot
          ON CONFLICT (connection_id, country, slot) DO UPDATE
            SET messages = q.messages + excluded.messages, delivered = q.delivered + excluded.delivered,
                receipt_ms = q.receipt_ms + excluded.receipt_ms)
        SELECT count(*) AS judged FROM gone`,
  );
  return judged;
}

/** Deletes figures that are too old for any use: alerts compare the last hour with the week before it. */
async function deleteOldQuality(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_quality WHERE slot < now() - interval '7 days 2 hours'`);
}
