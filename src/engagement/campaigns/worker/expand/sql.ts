import { type Db, one, type Sql, sql } from '../../../../platform/db/query.ts';
import type { Job } from '../../run/sql.ts';

export type Expanded = {
  /** Candidates, those who get nothing included. */
  count: number;
  skipped: number;
  /** The reserve of the others. */
  micros: number;
  /** The number of the last one; null when there was none. */
  last: string | null;
};

/**
 * Makes recipients of candidates (a SELECT as `recipientsSql` has it), in their order, and the lanes of their countries.
 * What goes beyond `leftMicros` in all is skipped as 'no_credit'. The cursor moves in the same statement, so that a
 * crash neither skips nor repeats anybody. A number that is there already fails it: that would be a fault of ours, and
 * looking for it at each insert took a quarter of the time.
 */
export async function insertRecipients(
  db: Db,
  { accountId, campaignId }: Job,
  { candidates, leftMicros, limit }: { candidates: Sql; leftMicros: number; limit: number },
): Promise<Expanded> {
  return one(
    db,
    sql`WITH candidate AS MATERIALIZED (${candidates}),
        counted AS (SELECT d.*, sum(d.reserve_micros) OVER (ORDER BY d.destination COLLATE "C") > ${leftMicros}
                      AND d.skip_reason IS NULL AS dear FROM candidate d),
        made AS (
          INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, contact_id, channels, sms_parts,
                                          reserve_micros, skip_reason)
          SELECT ${accountId}, ${campaignId}, country, destination, contact_id, CASE WHEN dear THEN 0 ELSE channels END,
                 sms_parts, CASE WHEN dear THEN 0 ELSE reserve_micros END,
                 CASE WHEN dear THEN 'no_credit' ELSE skip_reason END
          FROM counted
          RETURNING country, reserve_micros, skip_reason),
        lanes AS (
          INSERT INTO campaign_lane (account_id, campaign_id, country)
          SELECT ${accountId}::bigint, ${campaignId}::bigint, country FROM made
          GROUP BY country HAVING bool_or(skip_reason IS NULL)
          ON CONFLICT DO NOTHING),
        seen AS (SELECT count(*) AS count, max(destination COLLATE "C") AS last FROM candidate),
        run AS (
          UPDATE campaign_run r
          SET expanded_to = coalesce(s.last, r.expanded_to), expanded = s.count < ${limit},
              recipients = r.recipients + m.count, skipped = r.skipped + m.skipped,
              allotted_micros = r.allotted_micros + m.micros
          FROM seen s, (SELECT count(*) AS count, count(skip_reason) AS skipped, coalesce(sum(reserve_micros), 0) AS micros
                        FROM made) AS m
          WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId}
          RETURNING m.count, m.skipped, m.micros)
        SELECT r.count::bigint, r.skipped::bigint, r.micros::bigint, s.last FROM run r, seen s`,
  );
}
