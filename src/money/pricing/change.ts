import { notifyRoutingChange } from '../../network/connections/sql.ts';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { deletePrice, insertPrice, type Price } from './sql.ts';

type Place = { readonly channel: Channel; readonly prefix: string };

export type PriceInput = Place & {
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
