import { type Db, exec, maybeOne, one, type Sql, sql } from '../../../../platform/db/query.ts';
import type { Job } from '../../run/sql.ts';

/** Returns true if messages are still to be created for some recipients. */
export async function hasPendingRecipients(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const row = await maybeOne(
    db,
    sql`SELECT FROM campaign_run r
        WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND (NOT r.expanded OR EXISTS (
          SELECT FROM campaign_lane l
          WHERE l.account_id = ${accountId} AND l.campaign_id = ${campaignId} AND NOT l.done))`,
  );
  return row !== undefined;
}

/** Returns the age in ms of the last messages of a campaign; 0 when there are none. */
export async function findMsSinceLastBatch(db: Db, { accountId, campaignId }: Job): Promise<number> {
  const { ms } = await one<{ ms: number }>(
    db,
    sql`SELECT coalesce(extract(epoch FROM now() - (
          SELECT created_at FROM campaign_batch WHERE account_id = ${accountId} AND campaign_id = ${campaignId}
          ORDER BY id DESC LIMIT 1)) * 1000, 0)::float8 AS ms`,
  );
  return ms;
}

/**
 * Returns true if any message of a campaign was submitted to a carrier. Stops at the first such message, which comes
 * soon if any messages were delivered.
 */
export async function wasSubmitted(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const { any } = await one<{ any: boolean }>(
    db,
    sql`SELECT EXISTS (
          SELECT FROM campaign_batch b CROSS JOIN unnest(b.message_ids) AS m (id)
          JOIN message_state s ON s.account_id = b.account_id AND s.id = m.id
          WHERE b.account_id = ${accountId} AND b.campaign_id = ${campaignId} AND s.submitted_at IS NOT NULL) AS any`,
  );
  return any;
}

/**
 * Finds the reason why nothing was sent: the error of the last message, or else the reason why a recipient was skipped.
 */
export async function findObstacle(db: Db, { accountId, campaignId }: Job): Promise<string | null> {
  const { reason } = await one<{ reason: string | null }>(
    db,
    sql`SELECT coalesce(
          (SELECT s.error_text FROM (
             SELECT message_ids[1] AS id FROM campaign_batch
             WHERE account_id = ${accountId} AND campaign_id = ${campaignId} ORDER BY id DESC LIMIT 1) AS b
           JOIN message_state s ON s.account_id = ${accountId} AND s.id = b.id),
          (SELECT skip_reason FROM campaign_recipient
           WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND skip_reason IS NOT NULL LIMIT 1)) AS reason`,
  );
  return reason;
}

/** Counts the recipients `r` of a run that have a message: all messages of a recipient but the first are hops. */
const madeSql = ({ accountId, campaignId }: Job): Sql => sql`(r.messages - (
  SELECT count(*) FROM campaign_hop h WHERE h.account_id = ${accountId} AND h.campaign_id = ${campaignId}))`;

/** Counts the recipients without a message as skipped, because they will get none. */
export async function updateSkippedCount(db: Db, job: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run r SET skipped = r.recipients - ${madeSql(job)}
        WHERE r.account_id = ${job.accountId} AND r.campaign_id = ${job.campaignId}`,
  );
}

/** Counts the recipients who are not skipped and have no message: they will get none. */
export async function updateUnmadeCount(db: Db, job: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run r SET unmade = r.recipients - r.skipped - ${madeSql(job)}
        WHERE r.account_id = ${job.accountId} AND r.campaign_id = ${job.campaignId}`,
  );
}

/** Deletes up to `limit` recipients of a campaign that was deleted before it started. Returns their number. */
export async function deleteRecipients(
  db: Db,
  { accountId, campaignId }: Job,
  { limit }: { limit: number },
): Promise<number> {
  const own = sql`account_id = ${accountId} AND campaign_id = ${campaignId}`;
  return exec(
    db,
    sql`DELETE FROM campaign_recipient WHERE ${own} AND (country, destination) <= (
          SELECT country, destination
          FROM (SELECT country, destination FROM campaign_recipient WHERE ${own}
                ORDER BY country, destination LIMIT ${limit}) AS u
          ORDER BY country DESC, destination DESC LIMIT 1)`,
  );
}

/** Deletes the lanes, the run and the job of a deleted campaign. */
export async function deleteRun(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`WITH lanes AS (DELETE FROM campaign_lane WHERE account_id = ${accountId} AND campaign_id = ${campaignId}),
        run AS (DELETE FROM campaign_run WHERE account_id = ${accountId} AND campaign_id = ${campaignId})
        DELETE FROM campaign_job WHERE campaign_id = ${campaignId}`,
  );
}
