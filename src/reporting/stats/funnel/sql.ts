import type { SendingMode } from '../../../engagement/campaigns/mode.ts';
import { type Db, maybeOne, sql } from '../../../platform/db/query.ts';

/** A campaign's messages by channel, and who went on from where. */
export type FunnelRow = {
  readonly sendingMode: SendingMode;
  /** Who gets something, and how many messages were made for them, those on later channels included. */
  readonly recipients: number;
  readonly skipped: number;
  readonly messages: number;
  readonly traffic: readonly {
    /** Its bit. */
    readonly channel: number;
    readonly sent: number;
    readonly delivered: number;
    readonly read: number;
    readonly failed: number;
    readonly unsent: number;
  }[];
  readonly hops: readonly { readonly channel: string; readonly count: number }[];
};

/** The roll-ups of its hours, and one pass over those who went on. */
export const findFunnel = (
  db: Db,
  { accountId, campaignId }: { accountId: number; campaignId: number },
): Promise<FunnelRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT c.sending_mode AS "sendingMode", coalesce(r.skipped, 0) AS skipped, coalesce(r.messages, 0) AS messages,
               CASE WHEN r.expanded THEN r.recipients - r.skipped ELSE c.total_destinations END AS recipients,
               coalesce(t.rows, '[]') AS traffic, coalesce(h.rows, '[]') AS hops
        FROM campaign c
        LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
        CROSS JOIN (
          SELECT jsonb_agg(q) AS rows FROM (
            SELECT channel, sum(sent) AS sent, sum(delivered) AS delivered, sum(read) AS read, sum(failed) AS failed,
                   sum(unsent) AS unsent
            FROM traffic_hour WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND campaign_id <> 0
            GROUP BY channel) AS q) AS t
        CROSS JOIN (
          SELECT jsonb_agg(q) AS rows FROM (
            SELECT from_channel AS channel, count(*) AS count
            FROM campaign_hop WHERE account_id = ${accountId} AND campaign_id = ${campaignId} GROUP BY 1) AS q) AS h
        WHERE c.account_id = ${accountId} AND c.id = ${campaignId}`,
  );
