import { CAMPAIGN_ENTRY, CAMPAIGN_SOURCE, type CampaignEntry } from '../../engagement/campaigns/sql.ts';
import { type Db, many, one, sql } from '../../platform/db/query.ts';

type Of = { readonly accountId: number };

/** What came of the messages of an hour and a channel (its bit). */
export type HourRow = {
  readonly hour: Date;
  readonly channel: number;
  readonly sent: number;
  readonly delivered: number;
  readonly failed: number;
  readonly unsent: number;
  readonly costMicros: number;
};

/** The roll-ups from an hour on; folded or not, an hour adds up to the same. */
export const listHours = (db: Db, { accountId, from }: Of & { from: Date }): Promise<HourRow[]> =>
  many(
    db,
    sql`SELECT hour, channel, sum(sent)::bigint AS sent, sum(delivered)::bigint AS delivered,
               sum(failed)::bigint AS failed, sum(unsent)::bigint AS unsent, sum(cost_micros)::bigint AS "costMicros"
        FROM traffic_hour WHERE account_id = ${accountId} AND hour >= ${from} GROUP BY hour, channel ORDER BY hour, channel`,
  );

/** How many of the newest `most` messages in a range of ids are no simulations, and the oldest that was looked at. */
export const countAccepted = (
  db: Db,
  { accountId, firstId, most }: Of & { firstId: string; most: number },
): Promise<{ count: number; seen: number; oldestId: string | null }> =>
  one(
    db,
    sql`SELECT count(*) FILTER (WHERE NOT simulation) AS count, count(*) AS seen, min(id::text) AS "oldestId"
        FROM (SELECT id, simulation FROM message WHERE account_id = ${accountId} AND id >= ${firstId}
              ORDER BY id DESC LIMIT ${most}) AS newest`,
  );

/** Campaigns that are being sent, the newest first, then those that wait for their time, the next first. */
export async function listActiveCampaigns(
  db: Db,
  { accountId, sending, scheduled }: Of & { sending: number; scheduled: number },
): Promise<CampaignEntry[]> {
  const active = sql`SELECT ${CAMPAIGN_ENTRY} ${CAMPAIGN_SOURCE} WHERE k.account_id = ${accountId} AND k.confirmed_at IS NOT NULL`;
  return many(
    db,
    sql`(${active} AND k.status = 2 ORDER BY k.id DESC LIMIT ${sending})
        UNION ALL
        (${active} AND k.status = 1 ORDER BY k.scheduled_at, k.id LIMIT ${scheduled})`,
  );
}
