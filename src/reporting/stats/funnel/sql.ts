import type { SendingMode } from '../../../engagement/campaigns/mode.ts';
import { NOT_TRIED } from '../../../messaging/messages/fallback/rule.ts';
import { type Db, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type ChannelFigures = {
  /** The bit of the channel (src/platform/lib/channel.ts). */
  readonly channel: number;
  readonly sent: number;
  readonly delivered: number;
  readonly read: number;
  readonly failed: number;
  readonly unsent: number;
};

/** Number of recipients for whom another channel followed, by the channel that they left. */
type Hop = { readonly channel: string; readonly count: number; readonly notTried: number };

const FUNNEL = columns({
  sendingMode: as<SendingMode>('c.sending_mode'),
  skipped: as<number>('coalesce(r.skipped, 0)'),
  /** Number of messages that were made, including those on later channels. */
  messages: as<number>('coalesce(r.messages, 0)'),
  /** Number of recipients to whom something is sent. */
  recipients: as<number>('CASE WHEN r.expanded THEN r.recipients - r.skipped - r.unmade ELSE c.total_destinations END'),
  traffic: as<readonly ChannelFigures[]>(`coalesce(t.rows, '[]')`),
  hops: as<readonly Hop[]>(`coalesce(h.rows, '[]')`),
});
export type FunnelRow = RowOf<typeof FUNNEL>;

/** Finds the figures of a campaign: the roll-ups of its hours, and one pass over the changes of channel. */
export const findFunnel = (
  db: Db,
  { accountId, campaignId }: { accountId: number; campaignId: number },
): Promise<FunnelRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${FUNNEL}
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
            SELECT from_channel AS channel, count(*) AS count,
                   count(*) FILTER (WHERE reason = ${NOT_TRIED}) AS "notTried"
            FROM campaign_hop WHERE account_id = ${accountId} AND campaign_id = ${campaignId} GROUP BY 1) AS q) AS h
        WHERE c.account_id = ${accountId} AND c.id = ${campaignId}`,
  );
