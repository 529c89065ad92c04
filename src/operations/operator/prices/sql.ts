import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Price } from '../../../money/pricing/sql.ts';

const COLUMNS = sql`id, channel, prefix, unit_micros AS "unitMicros", refund_undelivered AS "refundUndelivered"`;

type Filter = {
  readonly channel: Channel | null;
  /** Beginnings of the prefixes; digits. */
  readonly prefix: string | null;
};

const matches = ({ channel, prefix }: Filter) => sql`FROM price
  WHERE (${channel}::text IS NULL OR channel = ${channel}) AND (${prefix}::text IS NULL OR starts_with(prefix, ${prefix}))`;

export async function listPricePage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<Price[]> {
  return many(
    db,
    sql`SELECT ${COLUMNS} ${matches(filter)} ORDER BY channel, prefix LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countPrices(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(filter)}`)).total;
}

export async function findPrice(db: Db, { id }: { id: number }): Promise<Price | undefined> {
  return maybeOne(db, sql`SELECT ${COLUMNS} FROM price WHERE id = ${id}`);
}

/** What a number costs on a channel: the longest prefix that it begins with. `digits` is without the plus. */
export async function findPriceFor(
  db: Db,
  { channel, digits }: { channel: Channel; digits: string },
): Promise<Price | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${COLUMNS} FROM price WHERE channel = ${channel} AND starts_with(${digits}, prefix)
        ORDER BY length(prefix) DESC LIMIT 1`,
  );
}
