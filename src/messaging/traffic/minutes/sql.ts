import { bigint, rowsOf, smallint, text, timestamptz } from '../../../platform/db/columns.ts';
import { type Db, exec, onePlan, sql } from '../../../platform/db/query.ts';

/** Addition to the current minute of a campaign, a channel (its bit) and a reason. */
export type MinuteRow = {
  readonly accountId: number;
  readonly campaignId: number;
  /** The hour of the messages. */
  readonly hour: Date;
  readonly channel: number;
  /** The status of messages that failed; 0 for the others. */
  readonly status: number;
  readonly code: string;
  sent: number;
  delivered: number;
  failed: number;
};

/**
 * Adds to one shard of the current minute, or of the quarter of an hour if the hour of the messages ended more than an
 * hour ago. The rows are locked in the order of their keys.
 */
export async function insertMinutes(
  db: Db,
  { rows, shard }: { rows: readonly MinuteRow[]; shard: number },
): Promise<void> {
  const added = rowsOf(rows, {
    account_id: bigint((row) => row.accountId),
    campaign_id: bigint((row) => row.campaignId),
    hour: timestamptz((row) => row.hour),
    channel: smallint((row) => row.channel),
    status: smallint((row) => row.status),
    code: text((row) => row.code),
    sent: bigint((row) => row.sent),
    delivered: bigint((row) => row.delivered),
    failed: bigint((row) => row.failed),
  });
  await exec(
    db,
    onePlan(sql`INSERT INTO campaign_minute AS t
          (account_id, campaign_id, minute, channel, status, code, shard, sent, delivered, failed)
        SELECT u.account_id, u.campaign_id,
               CASE WHEN now() < u.hour + interval '2 hours' THEN date_trunc('minute', now())
                    ELSE date_bin('15 minutes', now(), u.hour) END,
               u.channel, u.status, u.code, ${shard}::smallint, sum(u.sent)::bigint, sum(u.delivered)::bigint,
               sum(u.failed)::bigint
        FROM ${added} AS u GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (account_id, campaign_id, minute, channel, status, code, shard) DO UPDATE
          SET sent = t.sent + excluded.sent, delivered = t.delivered + excluded.delivered,
              failed = t.failed + excluded.failed`),
  );
}
