import { type Db, join, many, one, raw, sql } from '../../../platform/db/query.ts';

/** The shard of rows that were folded. */
const FOLDED_SHARD = -1;

const COUNTS = ['sent', 'delivered', 'read', 'failed', 'unsent', 'cost_micros'];
const NAMES = join(COUNTS.map((name) => raw(name)));
const SUMS = join(COUNTS.map((name) => raw(`sum(${name})::bigint`)));
const ADDED = join(COUNTS.map((name) => raw(`${name} = own.${name} + excluded.${name}`)));

/** Lists the accounts that have rows of hours before `before` which are not folded yet. */
export async function listUnfolded(db: Db, { before }: { before: Date }): Promise<number[]> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`SELECT DISTINCT account_id AS "accountId" FROM traffic_hour WHERE shard >= 0 AND hour < ${before}`,
  );
  return rows.map(({ accountId }) => accountId);
}

/**
 * Folds up to `limit` rows of an account, oldest first. Returns how many. It waits for no writer: rows that a writer
 * has locked are left for the next time. A writer's additions to a row that is being folded become a new row after the
 * commit.
 */
export async function foldHours(
  db: Db,
  { accountId, before, limit }: { accountId: number; before: Date; limit: number },
): Promise<number> {
  const { folded } = await one<{ folded: number }>(
    db,
    sql`WITH open AS (
          SELECT account_id, hour, campaign_id, channel, shard FROM traffic_hour
          WHERE account_id = ${accountId} AND shard >= 0 AND hour < ${before}
          ORDER BY hour LIMIT ${limit} FOR UPDATE SKIP LOCKED),
        taken AS (
          DELETE FROM traffic_hour t USING open o
          WHERE t.account_id = o.account_id AND t.hour = o.hour AND t.campaign_id = o.campaign_id
            AND t.channel = o.channel AND t.shard = o.shard
          RETURNING t.*),
        hours AS (
          INSERT INTO traffic_hour AS own (account_id, hour, campaign_id, channel, shard, ${NAMES})
          SELECT account_id, hour, campaign_id, channel, ${FOLDED_SHARD}::smallint, ${SUMS}
          FROM taken GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
          ON CONFLICT (account_id, hour, campaign_id, channel, shard) DO UPDATE SET ${ADDED}),
        days AS (
          INSERT INTO traffic_day AS own (account_id, day, campaign_id, channel, hours, ${NAMES})
          SELECT account_id, (hour AT TIME ZONE 'UTC')::date, campaign_id, channel,
            bit_or(1 << extract(hour FROM hour AT TIME ZONE 'UTC')::int), ${SUMS}
          FROM taken GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
          ON CONFLICT (account_id, day, campaign_id, channel) DO UPDATE
            SET hours = own.hours | excluded.hours, ${ADDED})
        SELECT count(*) AS folded FROM taken`,
  );
  return folded;
}
