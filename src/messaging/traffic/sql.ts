import { bigint, insertRows, smallint, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, onePlan, sql } from '../../platform/db/query.ts';

/** Addition to the figures of an account, an hour, a campaign (0: none) and a channel (its bit). */
export type TrafficRow = {
  readonly accountId: number;
  readonly hour: Date;
  readonly campaignId: number;
  readonly channel: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
  unsent: number;
  costMicros: number;
};

/**
 * Adds to one shard of the hours. The rows must be in the order of their keys, because they are locked in that order.
 */
export async function insertTraffic(
  db: Db,
  { rows, shard }: { rows: readonly TrafficRow[]; shard: number },
): Promise<void> {
  await exec(
    db,
    onePlan(sql`${insertRows(
      'traffic_hour AS t',
      rows,
      {
        accountId: bigint,
        hour: timestamptz,
        campaignId: bigint,
        channel: smallint,
        sent: bigint,
        delivered: bigint,
        read: bigint,
        failed: bigint,
        unsent: bigint,
        costMicros: bigint,
      },
      { shard: sql`${shard}` },
    )}
        ON CONFLICT (account_id, hour, campaign_id, channel, shard) DO UPDATE
          SET sent = t.sent + excluded.sent, delivered = t.delivered + excluded.delivered, read = t.read + excluded.read,
              failed = t.failed + excluded.failed, unsent = t.unsent + excluded.unsent,
              cost_micros = t.cost_micros + excluded.cost_micros`),
  );
}
