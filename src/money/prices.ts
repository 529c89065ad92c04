import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { type Channel, chargedUnits } from '../core/channels.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { toMicros } from '../core/money.ts';
import { numberForPrefix, type PrefixTable, prefixTable } from '../core/phone.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';

type Place = { readonly channel: Channel; readonly prefix: string };

type PriceInput = Place & {
  /** Currency units: per part on SMS, per message elsewhere. */
  readonly price: number;
  readonly refundUndelivered: boolean;
};

/**
 * Sets the price for a channel and prefix; running processes follow immediately. Call it in a transaction. Errors: 400
 * naming the invalid fields.
 */
export async function setPrice(tx: Db, { by, ...input }: PriceInput & { readonly by: string }): Promise<Price> {
  const { channel, prefix, price, refundUndelivered } = input;
  const unitMicros = toMicros(price);
  const errors = [
    ...(unitMicros === null || unitMicros < 0 ? [BAD_PRICE] : []),
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
  ];
  if (errors.length > 0 || unitMicros === null) throw invalidFields(errors);
  const { id } = await insertPrice(tx, { channel, prefix, unitMicros, refundUndelivered });
  await record(tx, by, 'price.set', input, { price, refundUndelivered });
  return { id, channel, prefix, unitMicros, refundUndelivered };
}

const BAD_PRICE = { field: 'price', message: 'must be an amount from 0 with at most 6 decimals' };

/** Removes a price; messages without any price are rejected. Call it in a transaction. Errors: 404. */
export async function removePrice(tx: Db, { by, ...place }: Place & { readonly by: string }): Promise<void> {
  if ((await deletePrice(tx, place)) === 0) throw new AppError('not_found', { message: 'There is no such price' });
  await record(tx, by, 'price.remove', place, {});
}

async function record(tx: Db, by: string, action: string, { channel, prefix }: Place, detail: object): Promise<void> {
  const subject = `price:${channel}/${prefix}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject, detail: { ...detail } });
  await notifyRoutingChange(tx);
}

/** The price of one part (SMS) or one message (elsewhere), with its refund rule for undelivered messages. */
export type UnitPrice = { readonly unitMicros: number; readonly refundUndelivered: boolean };

/**
 * Returns the price for a channel and number; null when the list has none. `destination` is E.164 with its plus, or the
 * user id of a person on WhatsApp who shows no number.
 */
export type FindPrice = (channel: Channel, destination: string) => UnitPrice | null;

/** Creates a price list in memory, because it is needed for every message; `reload` it after each change. */
export function createPriceList(pool: Pool): { find: FindPrice; reload(): Promise<void> } {
  let table: PrefixTable<UnitPrice> = prefixTable([]);
  return {
    find: (channel, destination) => table.find(channel, numberForPrefix(destination)) ?? null,
    async reload() {
      const prices = await listPrices(pool);
      table = prefixTable(prices.map(({ channel, prefix, ...value }) => ({ group: channel, prefix, value })));
    },
  };
}

/** Returns the price of a whole message in millionths: per part on SMS, once elsewhere. */
export const priceOf = (channel: Channel, { unitMicros }: UnitPrice, parts: number): number =>
  unitMicros * chargedUnits(channel, parts);

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
async function deletePrice(db: Db, { channel, prefix }: { channel: Channel; prefix: string }): Promise<number> {
  return exec(db, sql`DELETE FROM price WHERE channel = ${channel} AND prefix = ${prefix}`);
}
