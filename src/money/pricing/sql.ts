import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Channel } from '../../platform/lib/channel.ts';

const PRICE = columns({
  id: as<number>('id'),
  channel: as<Channel>('channel'),
  prefix: as<string>('prefix'),
  /** Per part on SMS, per message elsewhere, in millionths of the currency. */
  unitMicros: as<number>('unit_micros'),
  /** True if the price is returned when the message is not delivered. */
  refundUndelivered: as<boolean>('refund_undelivered'),
});
export type Price = RowOf<typeof PRICE>;

export async function listPrices(db: Db): Promise<Price[]> {
  return many(db, sql`SELECT ${PRICE} FROM price ORDER BY channel, prefix`);
}

/** Inserts a price, or changes the one of this channel and prefix. */
export async function insertPrice(db: Db, price: Omit<Price, 'id'>): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO price (channel, prefix, unit_micros, refund_undelivered)
        VALUES (${price.channel}, ${price.prefix}, ${price.unitMicros}, ${price.refundUndelivered})
        ON CONFLICT (channel, prefix) DO UPDATE
          SET unit_micros = excluded.unit_micros, refund_undelivered = excluded.refund_undelivered
        RETURNING id`,
  );
}

/** Deletes a price; returns 0 when there is none. */
export async function deletePrice(db: Db, { channel, prefix }: { channel: Channel; prefix: string }): Promise<number> {
  return exec(db, sql`DELETE FROM price WHERE channel = ${channel} AND prefix = ${prefix}`);
}
