import { bigint, rowsOf, smallint, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, onePlan, sql } from '../../platform/db/query.ts';

/** What is added to the figures of an account, hour, campaign (0: none) and channel (its bit). */
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

/** Adds to one shard of the hours; the rows must come in the order of their keys, in which they are locked. */
export async function insertTraffic(
  db: Db,
  { rows, shard }: { rows: readonly TrafficRow[]; shard: number },
): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO traffic_hour AS t (account_id, hour, campaign_id, channel, shard, sent, delivered, read, failed,
                                       unsent, cost_micros)
        SELECT u.account_id, u.hour, u.campaign_id, u.channel, ${shard}, u.sent, u.delivered, u.read, u.failed, u.unsent,
               u.cost_micros
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          hour: timestamptz((r) => r.hour),
          campaign_id: bigint((r) => r.campaignId),
          channel: smallint((r) => r.channel),
          sent: bigint((r) => r.sent),
          delivered: bigint((r) => r.delivered),
          read: bigint((r) => r.read),
          failed: bigint((r) => r.failed),
          unsent: bigint((r) => r.unsent),
          cost_micros: bigint((r) => r.costMicros),
        })} AS u
        ON CONFLICT (account_id, hour, campaign_id, channel, shard) DO UPDATE
          SET sent = t.sent + excluded.sent, delivered = t.delivered + excluded.delivered, read = t.read + excluded.read,
              failed = t.failed + excluded.failed, unsent = t.unsent + excluded.unsent,
              cost_micros = t.cost_micros + excluded.cost_micros`),
  );
}
