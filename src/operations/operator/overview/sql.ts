import type { ConnectionKind } from '../../../network/connections/kinds/kinds.ts';
import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const ACCOUNT_TOTALS = columns({
  total: as<number>('count(*)'),
  active: as<number>(`count(*) FILTER (WHERE status = 'active')`),
  suspended: as<number>(`count(*) FILTER (WHERE status = 'suspended')`),
});
export type AccountTotals = RowOf<typeof ACCOUNT_TOTALS>;

export async function countAccountsByStatus(db: Db): Promise<AccountTotals> {
  return one(db, sql`SELECT ${ACCOUNT_TOTALS} FROM account`);
}

const CHANNEL_TRAFFIC = columns({
  /** The bit of the channel (src/platform/lib/channel.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  read: as<number>('sum(read)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type ChannelTraffic = RowOf<typeof CHANNEL_TRAFFIC>;

/** Lists the traffic of all accounts by channel, from the roll-ups of the last 24 hours and of the current hour. */
export async function listChannelTraffic(db: Db): Promise<ChannelTraffic[]> {
  return many(
    db,
    sql`SELECT ${CHANNEL_TRAFFIC}
        FROM traffic_hour WHERE hour >= date_trunc('hour', now()) - interval '24 hours'
        GROUP BY channel ORDER BY channel`,
  );
}

const BUSY_ACCOUNT = columns({
  accountId: as<number>('t.account_id'),
  account: as<string>('a.name'),
  sent: as<number>('t.sent'),
});

/** Lists the accounts with the most messages in the current hour and the one before. */
export async function listBusiestAccounts(db: Db, { limit }: { limit: number }): Promise<RowOf<typeof BUSY_ACCOUNT>[]> {
  return many(
    db,
    sql`SELECT ${BUSY_ACCOUNT}
        FROM (SELECT account_id, sum(sent)::bigint AS sent FROM traffic_hour
              WHERE hour >= date_trunc('hour', now()) - interval '1 hour' GROUP BY account_id
              HAVING sum(sent) > 0 ORDER BY sent DESC, account_id LIMIT ${limit}) AS t
        JOIN account a ON a.id = t.account_id ORDER BY t.sent DESC, t.account_id`,
  );
}

const CREDIT_TOTAL = columns({
  currency: as<string>('b.currency'),
  availableMicros: as<number>('sum(b.available_micros)::bigint'),
  frozenMicros: as<number>('coalesce(sum(f.micros), 0)::bigint'),
});
export type CreditTotal = RowOf<typeof CREDIT_TOTAL>;

/** Lists the credit of all accounts together, by currency. */
export async function listCreditTotals(db: Db): Promise<CreditTotal[]> {
  return many(
    db,
    sql`SELECT ${CREDIT_TOTAL}
        FROM credit_balance b
        LEFT JOIN (SELECT account_id, sum(micros) AS micros FROM credit_frozen GROUP BY account_id) AS f
          ON f.account_id = b.account_id
        GROUP BY b.currency ORDER BY b.currency`,
  );
}

const KIND_MINUTE = columns({
  minute: as<Date>('m.minute'),
  kind: as<ConnectionKind>('c.kind'),
  accepted: as<number>('sum(m.accepted)::bigint'),
  refused: as<number>('sum(m.refused)::bigint'),
  unknown: as<number>('sum(m.unknown)::bigint'),
});
export type KindMinute = RowOf<typeof KIND_MINUTE>;

/**
 * Lists the responses of carriers in the last 60 minutes, by minute and kind of connection. Empty minutes are missing.
 */
export async function listMinutesByKind(db: Db): Promise<KindMinute[]> {
  return many(
    db,
    sql`SELECT ${KIND_MINUTE}
        FROM connection_minute m JOIN connection c ON c.id = m.connection_id
        WHERE m.minute > date_trunc('minute', now()) - interval '1 hour'
        GROUP BY m.minute, c.kind`,
  );
}
