import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';

export type Price = {
  id: number;
  channel: Channel;
  prefix: string;
  unitMicros: number;
  refundUndelivered: boolean;
};

export async function listPrices(db: Db): Promise<Price[]> {
  return many(
    db,
    sql`SELECT id, channel, prefix, unit_micros AS "unitMicros", refund_undelivered AS "refundUndelivered"
        FROM price ORDER BY channel, prefix`,
  );
}

/** Adds a price, or changes the one of this channel and prefix. */
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

export async function deletePrice(db: Db, { channel, prefix }: { channel: Channel; prefix: string }): Promise<number> {
  return exec(db, sql`DELETE FROM price WHERE channel = ${channel} AND prefix = ${prefix}`);
}
