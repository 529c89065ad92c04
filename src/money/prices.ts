import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { type Channel, chargedUnits } from '../core/channels.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { toMicros } from '../core/money.ts';
import { numberForPrefix, prefixTable } from '../core/phone.ts';
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

/** Everything about a message that its price depends on. */
export type PriceQuery = {
  readonly channel: Channel;
  /** E.164 with its plus, or the user id of a person on WhatsApp who shows no number. */
  readonly destination: string;
  readonly parts: number;
};

/** The price of a message, in millionths of the currency. */
export type MessagePrice = {
  /** The price of a part on SMS, of the message elsewhere. */
  readonly unitMicros: number;
  /** The price of the whole message. */
  readonly priceMicros: number;
  /** True if the price is returned when the message is not delivered. */
  readonly refundUndelivered: boolean;
};

/** Returns the price of a message; null when the list has none. */
export type FindPrice = (message: PriceQuery) => MessagePrice | null;

/** A row of a price list. */
export type ListedPrice = Omit<Price, 'id'>;

/** Makes a function that finds the row of a price list that applies to a message: that of the longest prefix. */
export function priceRows<Row extends Pick<ListedPrice, 'channel' | 'prefix'>>(
  rows: readonly Row[],
): (message: PriceQuery) => Row | undefined {
  const table = prefixTable(rows.map((value) => ({ group: value.channel, prefix: value.prefix, value })));
  return ({ channel, destination }) => table.find(channel, numberForPrefix(destination));
}

/** Makes the function that prices messages by a list; previews, campaigns and sends all ask one. */
export function pricing(rows: readonly ListedPrice[]): FindPrice {
  const findRow = priceRows(rows);
  return (message) => {
    const row = findRow(message);
    if (!row) return null;
    const { unitMicros, refundUndelivered } = row;
    return { unitMicros, priceMicros: unitMicros * chargedUnits(message.channel, message.parts), refundUndelivered };
  };
}

/** Creates a price list in memory, because it is needed for every message; `reload` it after each change. */
export function createPriceList(pool: Pool): { find: FindPrice; reload(): Promise<void> } {
  let find = pricing([]);
  return {
    find: (message) => find(message),
    async reload() {
      find = pricing(await listPrices(pool));
    },
  };
}

type ChainPrice = Pick<MessagePrice, 'priceMicros' | 'refundUndelivered'>;

/**
 * Returns the cost of trying messages in turn, for each message at which that may end: its price, and the prices of
 * those before it that are not returned.
 */
export function chainCosts(chain: readonly ChainPrice[]): number[] {
  let spent = 0;
  return chain.map(({ priceMicros, refundUndelivered }) => {
    const cost = spent + priceMicros;
    if (!refundUndelivered) spent += priceMicros;
    return cost;
  });
}

/** Returns the maximum cost of trying messages in turn. */
export const maxChainCost = (chain: readonly ChainPrice[]): number => Math.max(0, ...chainCosts(chain));

export const PRICE = columns({
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
export async function insertPrice(db: Db, price: ListedPrice): Promise<{ id: number }> {
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
