import { type Db, one, type Sql, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import type { Job } from '../../run/sql.ts';

const EXPANDED = columns({
  /** The candidates, including those who get nothing. */
  count: as<number>('r.count::bigint'),
  skipped: as<number>('r.skipped::bigint'),
  /** The reserve of the others. */
  micros: as<number>('r.micros::bigint'),
  /** The number of the last candidate; null when there was none. */
  last: as<string | null>('s.last'),
});

/** Number of recipients that a step created. */
export type Expanded = RowOf<typeof EXPANDED>;

/**
 * Inserts candidates (a SELECT of the columns of `recipientsSql`) as recipients, in their order, with the lanes of
 * their countries. Recipients beyond a total reserve of `leftMicros` are skipped as 'no_credit'. The cursor moves in
 * the same statement, so that a crash neither skips nor repeats a recipient. The statement fails if a number is already
 * a recipient: that would be a bug, and checking for it at each insert took a quarter of the time.
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
        SELECT ${EXPANDED} FROM run r, seen s`,
  );
}
