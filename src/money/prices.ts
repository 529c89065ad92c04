import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { CHANNEL, type Channel } from '../core/channels.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { toMicros } from '../core/money.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';

/**
 * The categories in which networks bill messages, under their names. WhatsApp: those of `pricing.category` in its
 * statuses (developers.facebook.com/docs/whatsapp/pricing). RCS: those of the standard and the US billing model
 * (developers.google.com/business-communications/rcs-business-messaging/carriers/billing).
 */
export const PRICE_CATEGORIES = {
  SMS: [],
  RCS: ['basic', 'single', 'rich', 'rich-media', 'conversation'],
  WHATSAPP: ['marketing', 'utility', 'authentication', 'authentication-international', 'service'],
} as const satisfies Readonly<Record<Channel, readonly string[]>>;
export type PriceCategory = (typeof PRICE_CATEGORIES)[Channel][number];

/**
 * The windows in which WhatsApp bills messages differently: 24 hours after a message from the person, and 72 hours after
 * the answer to one that came from an advertisement (developers.facebook.com/docs/whatsapp/pricing). `FREE` stands for the free
 * allowance of service messages (`free-allowance.ts`).
 */
export const PRICE_WINDOWS = ['IN_WINDOW', 'FREE_ENTRY', 'FREE'] as const;
export type PriceWindow = (typeof PRICE_WINDOWS)[number];

/** Stands in a price for every category, or for every window and none. */
export const ANY = '*';

/** The currency of accounts for which no other is stored. */
export const DEFAULT_CURRENCY = 'EUR';

type Place = {
  readonly channel: Channel;
  readonly prefix: string;
  /** The account whose messages have this price; null: those of all accounts. */
  readonly accountId?: number | null | undefined;
  readonly category?: string | undefined;
  readonly window?: string | undefined;
  readonly validFrom?: Date | null | undefined;
  readonly currency?: string | undefined;
};

type PriceInput = Place & {
  /** Currency units: per part if the price is for each part, per message otherwise. */
  readonly price: number;
  readonly perPart?: boolean | undefined;
  readonly refundUndelivered: boolean;
};

/**
 * Sets the price for the messages of a place; running processes follow immediately. Omitted conditions are those of a
 * price for all messages of its channel and prefix. Call it in a transaction. Errors: 400 naming the invalid fields.
 */
export async function setPrice(tx: Db, { by, ...input }: PriceInput & { readonly by: string }): Promise<Price> {
  const unitMicros = toMicros(input.price);
  const place = completed(input);
  const { channel, price, perPart = CHANNEL[input.channel].parts, refundUndelivered } = input;
  const errors = [...(unitMicros === null || unitMicros < 0 ? [BAD_PRICE] : []), ...(await faultsOf(tx, place))];
  if (errors.length > 0 || unitMicros === null) throw invalidFields(errors);
  const row = { ...place, unitMicros, perPart, refundUndelivered };
  const { id } = await insertPrice(tx, row);
  const { prefix: _prefix, channel: _channel, ...conditions } = statedOf(place);
  await record(tx, by, 'price.set', place, {
    ...conditions,
    price,
    ...(perPart !== CHANNEL[channel].parts && { perPart }),
    refundUndelivered,
  });
  return { ...row, id };
}

const BAD_PRICE = { field: 'price', message: 'must be an amount from 0 with at most 6 decimals' };

const completed = ({ channel, prefix, accountId, category, window, validFrom, currency }: Place): PricePlace => ({
  channel,
  prefix,
  accountId: accountId ?? null,
  category: category ?? ANY,
  window: window ?? ANY,
  validFrom: validFrom ?? null,
  currency: currency ?? DEFAULT_CURRENCY,
});

/** Returns the conditions of a price without those that every message meets. */
const statedOf = ({ channel, prefix, accountId, category, window, validFrom, currency }: PricePlace) => ({
  channel,
  prefix,
  ...(accountId !== null && { accountId }),
  ...(category !== ANY && { category }),
  ...(window !== ANY && { window }),
  ...(validFrom !== null && { validFrom }),
  ...(currency !== DEFAULT_CURRENCY && { currency }),
});

async function faultsOf(tx: Db, { channel, prefix, accountId, category, window }: PricePlace): Promise<FieldError[]> {
  const categories: readonly string[] = PRICE_CATEGORIES[channel];
  const isWindow = window === ANY || (channel === 'WHATSAPP' && PRICE_WINDOWS.some((one) => one === window));
  return [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(category === ANY || categories.includes(category)
      ? []
      : [{ field: 'category', message: `on ${channel} must be one of: ${[ANY, ...categories].join(', ')}` }]),
    ...(isWindow ? [] : [{ field: 'window', message: `on ${channel} must be ${ANY}` }]),
    ...(accountId === null || (await isAccount(tx, { accountId }))
      ? []
      : [{ field: 'accountId', message: 'there is no such account' }]),
  ];
}

/** Removes a price; messages without any price are rejected. Call it in a transaction. Errors: 404. */
export async function removePrice(tx: Db, { by, ...place }: Place & { readonly by: string }): Promise<void> {
  const complete = completed(place);
  if ((await deletePrice(tx, complete)) === 0) throw new AppError('not_found', { message: 'There is no such price' });
  const { channel: _channel, prefix: _prefix, ...conditions } = statedOf(complete);
  await record(tx, by, 'price.remove', complete, conditions);
}

async function record(tx: Db, by: string, action: string, { channel, prefix }: Place, detail: object): Promise<void> {
  const subject = `price:${channel}/${prefix}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject, detail: { ...detail } });
  await notifyRoutingChange(tx);
}

export const PRICE = columns({
  id: as<number>('id'),
  channel: as<Channel>('channel'),
  prefix: as<string>('prefix'),
  /** The account whose messages have this price; null: those of all accounts without a separate price. */
  accountId: as<number | null>('owner_id'),
  /** A category of `PRICE_CATEGORIES`, or `*`. */
  category: as<string>('category'),
  /** One of `PRICE_WINDOWS`, or `*`. */
  window: as<string>('session_window'),
  /** The price of a unit, in millionths of the currency. */
  unitMicros: as<number>('unit_micros'),
  /** True if the parts of an SMS, or the segments of a text on RCS, are units; false if the message is one. */
  perPart: as<boolean>('per_part'),
  /** True if the price is returned when the message is not delivered. */
  refundUndelivered: as<boolean>('refund_undelivered'),
  /** Null: since ever. */
  validFrom: as<Date | null>('valid_from'),
  /** ISO 4217. The price is for accounts whose balance is in this currency. */
  currency: as<string>('currency'),
});
export type Price = RowOf<typeof PRICE>;

type PricePlace = Pick<Price, 'channel' | 'prefix' | 'accountId' | 'category' | 'window' | 'validFrom' | 'currency'>;

/** The order in which prices are listed. */
export const PRICE_ORDER = sql`channel, prefix, owner_id NULLS FIRST, category, session_window, currency, valid_from NULLS FIRST`;

export async function listPrices(db: Db): Promise<Price[]> {
  return many(db, sql`SELECT ${PRICE} FROM price ORDER BY ${PRICE_ORDER}`);
}

/** Lists the prices that may apply to messages of an account: its own and those of all, in its currency. */
export async function listPricesOf(db: Db, { accountId }: { accountId: number }): Promise<Price[]> {
  return many(
    db,
    sql`SELECT ${PRICE} FROM price
        WHERE (owner_id IS NULL OR owner_id = ${accountId})
          AND currency = coalesce((SELECT b.currency FROM credit_balance b WHERE b.account_id = ${accountId}),
                                  ${DEFAULT_CURRENCY})
        ORDER BY ${PRICE_ORDER}`,
  );
}

/** Lists the currencies of accounts that do not have the default one. */
export async function listCurrencies(db: Db): Promise<ReadonlyMap<number, string>> {
  const rows = await many<{ accountId: number; currency: string }>(
    db,
    sql`SELECT account_id AS "accountId", currency FROM credit_balance WHERE currency <> ${DEFAULT_CURRENCY}`,
  );
  return new Map(rows.map(({ accountId, currency }) => [accountId, currency]));
}

async function isAccount(db: Db, { accountId }: { accountId: number }): Promise<boolean> {
  return (await maybeOne(db, sql`SELECT id FROM account WHERE id = ${accountId}`)) !== undefined;
}

/** A price; omitted conditions are those of one for all messages of its channel and prefix. */
export type NewPrice = Place & Pick<Price, 'unitMicros' | 'refundUndelivered'> & { readonly perPart?: boolean };

/** Inserts a price, or changes the one of this place. */
export async function insertPrice(
  db: Db,
  { unitMicros, refundUndelivered, perPart, ...given }: NewPrice,
): Promise<{ id: number }> {
  const price = completed(given);
  return one(
    db,
    sql`INSERT INTO price (channel, prefix, owner_id, category, session_window, unit_micros, per_part, refund_undelivered,
                           valid_from, currency)
        VALUES (${price.channel}, ${price.prefix}, ${price.accountId}, ${price.category}, ${price.window},
                ${unitMicros}, ${perPart ?? CHANNEL[price.channel].parts}, ${refundUndelivered}, ${price.validFrom},
                ${price.currency})
        ON CONFLICT (channel, prefix, owner_id, category, session_window, valid_from, currency) DO UPDATE
          SET unit_micros = excluded.unit_micros, per_part = excluded.per_part,
              refund_undelivered = excluded.refund_undelivered
        RETURNING id`,
  );
}

/** Deletes a price; returns 0 when there is none. */
async function deletePrice(db: Db, place: PricePlace): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM price
        WHERE channel = ${place.channel} AND prefix = ${place.prefix} AND owner_id IS NOT DISTINCT FROM ${place.accountId}
          AND category = ${place.category} AND session_window = ${place.window}
          AND valid_from IS NOT DISTINCT FROM ${place.validFrom} AND currency = ${place.currency}`,
  );
}
