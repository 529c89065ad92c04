import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const HISTORY = columns({
  /** The bit of the channel. */
  channel: as<number>('h.channel'),
  delivered: as<number>('sum(h.delivered)::bigint'),
  failed: as<number>('sum(h.failed)::bigint'),
});

/** Number of an account's messages that were delivered on a channel, and that were not. */
export type ChannelHistory = RowOf<typeof HISTORY>;

/**
 * Sums up the outcomes of an account's messages by channel, from the daily and hourly figures of the last `days` days:
 * some hundred rows, however much was sent.
 */
export const listChannelHistory = (
  db: Db,
  { accountId, days }: { accountId: number; days: number },
): Promise<ChannelHistory[]> =>
  many(
    db,
    sql`SELECT ${HISTORY} FROM (
          SELECT channel, delivered, failed FROM traffic_day
          WHERE account_id = ${accountId} AND day >= (now() AT TIME ZONE 'UTC')::date - ${days}::int
          UNION ALL
          SELECT channel, delivered, failed FROM traffic_hour
          WHERE account_id = ${accountId} AND shard >= 0 AND hour >= now() - ${days} * interval '1 day') AS h
        GROUP BY h.channel`,
  );
