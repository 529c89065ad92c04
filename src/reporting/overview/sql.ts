import { CAMPAIGN_ENTRY, CAMPAIGN_SOURCE, type CampaignEntry } from '../../engagement/campaigns/sql.ts';
import { CAMPAIGN } from '../../engagement/campaigns/states.ts';
import { constant, type Db, many, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const READY = constant(CAMPAIGN.READY);
const SENDING = constant(CAMPAIGN.SENDING);

type Of = { readonly accountId: number };

const HOUR = columns({
  hour: as<Date>('hour'),
  /** The bit of the channel (src/platform/lib/channel.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  /** Those of `failed` that were never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type HourRow = RowOf<typeof HOUR>;

/** Lists the figures by hour and channel from an hour on. The sums are the same whether an hour has been folded or not. */
export const listHours = (db: Db, { accountId, from }: Of & { from: Date }): Promise<HourRow[]> =>
  many(
    db,
    sql`SELECT ${HOUR} FROM traffic_hour
        WHERE account_id = ${accountId} AND hour >= ${from} GROUP BY hour, channel ORDER BY hour, channel`,
  );

/**
 * Reads the newest `limit` messages from an id on. Returns how many there are (`seen`), how many of them are not
 * simulations (`count`), and the id of the oldest.
 */
export const countAccepted = (
  db: Db,
  { accountId, firstId, limit }: Of & { firstId: string; limit: number },
): Promise<{ count: number; seen: number; oldestId: string | null }> =>
  one(
    db,
    sql`SELECT count(*) FILTER (WHERE NOT simulation) AS count, count(*) AS seen, min(id::text) AS "oldestId"
        FROM (SELECT id, simulation FROM message WHERE account_id = ${accountId} AND id >= ${firstId}
              ORDER BY id DESC LIMIT ${limit}) AS newest`,
  );

/** Lists campaigns that are being sent, newest first, then scheduled ones, next first. */
export async function listActiveCampaigns(
  db: Db,
  { accountId, sending, scheduled }: Of & { sending: number; scheduled: number },
): Promise<CampaignEntry[]> {
  const active = sql`SELECT ${CAMPAIGN_ENTRY} ${CAMPAIGN_SOURCE} WHERE k.account_id = ${accountId} AND k.confirmed_at IS NOT NULL`;
  return many<CampaignEntry>(
    db,
    sql`(${active} AND k.status = ${SENDING} ORDER BY k.id DESC LIMIT ${sending})
        UNION ALL
        (${active} AND k.status = ${READY} ORDER BY k.scheduled_at, k.id LIMIT ${scheduled})`,
  );
}
