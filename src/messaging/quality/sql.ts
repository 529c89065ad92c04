import { bigint, insertRows, text, timestamptz, uuid } from '../../platform/db/columns.ts';
import { constant, type Db, exec, one, sql } from '../../platform/db/query.ts';
import { STATUS } from '../states.ts';

/** A message that a carrier has answered, to be judged later. */
export type NewSample = {
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
 * Judges up to `limit` samples whose carrier answered before `before` and adds them to the figures: a message counts as
 * delivered when it has that state by now and did not move to another connection. Returns how many there were. Several
 * workers may do it at the same time.
 */
export async function judgeSamples(db: Db, { before, limit }: { before: Date; limit: number }): Promise<number> {
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
export async function deleteOldQuality(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM connection_quality WHERE slot < now() - interval '7 days 2 hours'`);
}
