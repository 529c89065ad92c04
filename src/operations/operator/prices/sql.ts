import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

const PRICE = columns({
  id: as<number>('id'),
  channel: as<Channel>('channel'),
  prefix: as<string>('prefix'),
  /** The price per part on SMS, and per message on other channels. */
  unitMicros: as<number>('unit_micros'),
  refundUndelivered: as<boolean>('refund_undelivered'),
});
export type PriceRow = RowOf<typeof PRICE>;

type Filter = {
  readonly channel: Channel | null;
  /** The digits with which the prefixes begin. */
  readonly prefix: string | null;
};

const matches = ({ channel, prefix }: Filter) => sql`FROM price
  WHERE (${channel}::text IS NULL OR channel = ${channel}) AND (${prefix}::text IS NULL OR starts_with(prefix, ${prefix}))`;

export async function listPricePage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<PriceRow[]> {
  return many(
    db,
    sql`SELECT ${PRICE} ${matches(filter)} ORDER BY channel, prefix LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countPrices(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(filter)}`)).total;
}

export async function findPrice(db: Db, { id }: { id: number }): Promise<PriceRow | undefined> {
  return maybeOne(db, sql`SELECT ${PRICE} FROM price WHERE id = ${id}`);
}

/**
 * Finds the price of a number on a channel: that of the longest prefix with which the number begins. `digits` is the
 * number without the plus sign.
 */
export async function findPriceFor(
  db: Db,
  { channel, digits }: { channel: Channel; digits: string },
): Promise<PriceRow | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${PRICE} FROM price WHERE channel = ${channel} AND starts_with(${digits}, prefix)
        ORDER BY length(prefix) DESC LIMIT 1`,
  );
}
