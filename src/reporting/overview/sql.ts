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
  /** The part of `failed` that was never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type HourRow = RowOf<typeof HOUR>;

/**
 * Lists the figures by hour and channel from an hour on. The sums are the same whether an hour has been folded or not.
 */
export const listHours = (db: Db, { accountId, from }: Of & { from: Date }): Promise<HourRow[]> =>
  many(
    db,
    sql`SELECT ${HOUR} FROM traffic_hour
        WHERE account_id = ${accountId} AND hour >= ${from} GROUP BY hour, channel ORDER BY hour, channel`,
  );

/**
 * Reads the newest `limit` messages from an id on. Returns their number (`seen`), the number of them that are not
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

const DAY = columns({
  /** YYYY-MM-DD, UTC. */
  day: as<string>('day'),
  /** The bit of the channel (src/platform/lib/channel.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  /** The part of `failed` that was never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type DayRow = RowOf<typeof DAY>;

/**
 * Lists the figures by day and channel from one midnight, UTC, to another: from the daily roll-up, and from the hours
 * that are not folded into it yet.
 */
export const listDays = (
  db: Db,
  { accountId, from, to }: Of & { readonly from: Date; readonly to: Date },
): Promise<DayRow[]> =>
  many(
    db,
    sql`SELECT ${DAY} FROM (
          SELECT (hour AT TIME ZONE 'UTC')::date AS day, channel, sent, delivered, failed, unsent, cost_micros
          FROM traffic_hour
          WHERE account_id = ${accountId} AND hour >= ${from} AND hour < ${to} AND shard >= 0
          UNION ALL
          SELECT day, channel, sent, delivered, failed, unsent, cost_micros FROM traffic_day
          WHERE account_id = ${accountId} AND day >= (${from}::timestamptz AT TIME ZONE 'UTC')::date
            AND day < (${to}::timestamptz AT TIME ZONE 'UTC')::date) AS counted
        GROUP BY day, channel ORDER BY day, channel`,
  );

const SHARED_STEPS = columns({
  connection: as<boolean>(`EXISTS (SELECT FROM connection WHERE status = 'active' AND NOT sandbox)`),
  prices: as<boolean>('EXISTS (SELECT FROM price)'),
});

/**
 * Finds out if the gateway has a connection to a real carrier, and prices. Needs the rights of the program, because
 * accounts may not read these tables.
 */
export const findSharedSteps = (db: Db): Promise<RowOf<typeof SHARED_STEPS>> => one(db, sql`SELECT ${SHARED_STEPS}`);

const OWN_STEPS = columns({
  key: as<boolean>(
    'EXISTS (SELECT FROM api_key WHERE account_id = a.id AND (expires_at IS NULL OR expires_at > now()))',
  ),
  webhook: as<boolean>('EXISTS (SELECT FROM webhook_endpoint WHERE account_id = a.id)'),
  message: as<boolean>(
    `EXISTS (SELECT FROM traffic_hour WHERE account_id = a.id AND sent > 0)
     OR EXISTS (SELECT FROM traffic_day WHERE account_id = a.id AND sent > 0)`,
  ),
  contacts: as<boolean>('EXISTS (SELECT FROM contact_book WHERE account_id = a.id AND contacts > 0)'),
  campaign: as<boolean>('EXISTS (SELECT FROM campaign WHERE account_id = a.id AND confirmed_at IS NOT NULL)'),
});

/** Finds the first steps that an account has completed. */
export const findOwnSteps = (db: Db, { accountId }: Of): Promise<RowOf<typeof OWN_STEPS>> =>
  one(db, sql`SELECT ${OWN_STEPS} FROM (SELECT ${accountId}::bigint AS id) AS a`);
