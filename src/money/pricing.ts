import type { Pool } from 'pg';
import { CHANNEL, type Channel } from '../core/channels.ts';
import { numberForPrefix } from '../core/phone.ts';
import {
  ANY,
  DEFAULT_CURRENCY,
  listCurrencies,
  listPrices,
  type Price,
  type PriceCategory,
  type PriceWindow,
} from './prices.ts';

/** Everything about a message that its price depends on. */
export type PriceQuery = {
  readonly channel: Channel;
  /** E.164 with its plus, or the user id of a person on WhatsApp who shows no number. */
  readonly destination: string;
  /** Parts on SMS, segments of 160 bytes on RCS; 1 elsewhere. */
  readonly parts: number;
  /** The account that sends; omit it for the prices of all accounts. */
  readonly accountId?: number;
  /** The categories that fit the message, the most specific first. */
  readonly categories?: readonly PriceCategory[];
  /** The windows that are open, the first one preferred. */
  readonly windows?: readonly PriceWindow[];
  /** The instant whose prices count; null and omitted: now. */
  readonly at?: Date | null;
  /** The currency of the account; omitted: any. */
  readonly currency?: string;
};

/** The price of a message, in millionths of the currency. */
export type MessagePrice = {
  /** The price of a unit: of a part if the price is for each part, of the message otherwise. */
  readonly unitMicros: number;
  /** The price of the whole message. */
  readonly priceMicros: number;
  /** True if each part is charged. */
  readonly perPart: boolean;
  /** The category of the price or, if it is for any, the most general one of the message; null if it has none. */
  readonly category: string | null;
  /** True if the price is returned when the message is not delivered. */
  readonly refundUndelivered: boolean;
};

/** Returns the price of a message; null when the list has none. */
export type FindPrice = (message: PriceQuery) => MessagePrice | null;

/** The messages for which a price counts; without conditions, all of its channel and prefix. */
type Conditioned = Pick<Price, 'channel' | 'prefix'> &
  Partial<Pick<Price, 'accountId' | 'category' | 'window' | 'validFrom' | 'currency'>>;

export type ListedPrice = Conditioned &
  Pick<Price, 'unitMicros' | 'refundUndelivered'> &
  Partial<Pick<Price, 'perPart'>>;

/** The steps by which the row of a message is chosen, for people who ask why. */
export type Chosen<Row> = {
  readonly row: Row;
  /** Rows that also apply to the message and come after it, the next first. */
  readonly passedOver: readonly Row[];
};

const startOf = ({ validFrom = null }: Conditioned): number => validFrom?.getTime() ?? Number.NEGATIVE_INFINITY;

/**
 * Makes a function that visits the rows of a price list that apply to a message, until a visit is enough. The row that
 * counts is the first one: those of
 * the account before those for all, then those of the longest prefix, those of its category before those of any, those
 * of its window before those of any, and the newest that is valid. The work for a message does not grow with the list.
 */
function applicableRows<Row extends Conditioned>(
  rows: readonly Row[],
): (message: PriceQuery, isEnough: (row: Row) => boolean) => void {
  const newestFirst = rows.toSorted((a, b) => startOf(b) - startOf(a) || 0);
  const byOwner = Map.groupBy(newestFirst, ({ accountId = null }) => accountId);
  const places = new Map(
    [...byOwner].map(([owner, own]) => [
      owner,
      new Map(
        [...Map.groupBy(own, ({ channel }) => channel)].map(([channel, of]) => [
          channel,
          Map.groupBy(of, ({ prefix }) => prefix),
        ]),
      ),
    ]),
  );
  const longest = rows.reduce((length, { prefix }) => Math.max(length, prefix.length), 0);

  /** Visits the rows of one owner; returns true when a visit was enough. */
  function visitOwner(owner: number | null, message: PriceQuery, isEnough: (row: Row) => boolean): boolean {
    const byPrefix = places.get(owner)?.get(message.channel);
    if (!byPrefix) return false;
    const digits = numberForPrefix(message.destination).slice(1);
    for (let length = Math.min(longest, digits.length); length >= 0; length--) {
      const place = byPrefix.get(digits.slice(0, length));
      if (place && visitPlace(place, message, isEnough)) return true;
    }
    return false;
  }
  return (message, isEnough) => {
    const { accountId = null } = message;
    if (accountId !== null && visitOwner(accountId, message, isEnough)) return;
    visitOwner(null, message, isEnough);
  };
}

/** Visits the rows of one place that apply to a message, the best first; returns true when a visit was enough. */
function visitPlace<Row extends Conditioned>(
  place: readonly Row[],
  message: PriceQuery,
  isEnough: (row: Row) => boolean,
): boolean {
  for (const category of withAny(message.categories))
    for (const window of withAny(message.windows))
      for (const row of place)
        if (
          (row.category ?? ANY) === category &&
          (row.window ?? ANY) === window &&
          isValid(row, message) &&
          isEnough(row)
        )
          return true;
  return false;
}

const ONLY_ANY = [ANY] as const;

/** Returns conditions and after them the one that always holds. */
const withAny = <T extends string>(conditions: readonly T[] = []): readonly (T | typeof ANY)[] =>
  conditions.length === 0 ? ONLY_ANY : [...conditions, ANY];

/** True if a row has begun to apply at the time of a message, and is in its currency. */
const isValid = (row: Conditioned, { at, currency = row.currency }: PriceQuery): boolean =>
  startOf(row) <= (at?.getTime() ?? Date.now()) && (row.currency === undefined || row.currency === currency);

export function priceRows<Row extends Conditioned>(rows: readonly Row[]): (message: PriceQuery) => Row | undefined {
  const visit = applicableRows(rows);
  return (message) => {
    let found: Row | undefined;
    visit(message, (row) => {
      found = row;
      return true;
    });
    return found;
  };
}

/** Explains the choice among the rows of a price list; undefined when none applies to the message. */
export function explainPrice<Row extends Conditioned>(
  rows: readonly Row[],
  message: PriceQuery,
): Chosen<Row> | undefined {
  const found: Row[] = [];
  applicableRows(rows)(message, (row) => found.push(row) === 0);
  const [row, ...passedOver] = found;
  return row && { row, passedOver };
}

/** True if a price is for each part. */
const isPerPart = ({ channel, perPart = CHANNEL[channel].parts }: Pick<ListedPrice, 'channel' | 'perPart'>) => perPart;

/** Makes the function that prices messages by a list; previews, campaigns and sends all ask one. */
export function pricing(rows: readonly ListedPrice[]): FindPrice {
  const findRow = priceRows(rows);
  return (message) => {
    const row = findRow(message);
    return row ? priceBy(row, message) : null;
  };
}

export function priceBy(
  row: ListedPrice,
  { parts, categories = [] }: Pick<PriceQuery, 'parts' | 'categories'>,
): MessagePrice {
  const { unitMicros, refundUndelivered } = row;
  const perPart = isPerPart(row);
  const category = row.category === undefined || row.category === ANY ? (categories.at(-1) ?? null) : row.category;
  return { unitMicros, priceMicros: unitMicros * (perPart ? parts : 1), perPart, category, refundUndelivered };
}

/** A price list in memory, because it is needed for every message. */
type PriceList = {
  readonly find: FindPrice;
  /** Returns true if any price depends on a window. */
  dependsOnWindow(): boolean;
  /** Reads the list again; call it after each change. */
  reload(): Promise<void>;
};

export function createPriceList(pool: Pool): PriceList {
  let find = pricing([]);
  let hasWindows = false;
  let currencies: ReadonlyMap<number, string> = new Map();
  return {
    find: (message) => find({ ...message, currency: currencies.get(message.accountId ?? 0) ?? DEFAULT_CURRENCY }),
    dependsOnWindow: () => hasWindows,
    async reload() {
      const rows = await listPrices(pool);
      currencies = await listCurrencies(pool);
      find = pricing(rows);
      hasWindows = rows.some(({ window }) => window !== ANY && window !== 'FREE');
    },
  };
}

/** The messages of an account that agree in all that decides their price but channel, number and parts. */
export type PricedAlike = {
  readonly accountId: number;
  readonly at: Date | null;
  /** Returns the categories of its messages on a channel to a number, in E.164 with its plus. */
  categoriesOf(channel: Channel, destination: string): readonly PriceCategory[];
  /** Prefixes on which `categoriesOf` depends. */
  readonly prefixes: readonly string[];
  /** The number of units of a message on a channel without parts. */
  unitsOf(channel: Channel): number;
};

/**
 * Returns the list of an account's prices for messages that agree in all but their channel, number and parts. Only the
 * longest prefix decides in it: for each prefix of the list it has the row that counts there.
 */
export function narrowPrices(rows: readonly ListedPrice[], alike: PricedAlike): ListedPrice[] {
  const { accountId, at, categoriesOf, prefixes, unitsOf } = alike;
  const findRow = priceRows(rows);
  const channels = Map.groupBy(rows, ({ channel }) => channel);
  return [...channels].flatMap(([channel, own]) =>
    [...new Set(['', ...prefixes, ...own.map(({ prefix }) => prefix)])].sort().flatMap((prefix) => {
      const destination = `+${prefix}`;
      const row = findRow({
        channel,
        destination,
        parts: 1,
        accountId,
        at,
        categories: categoriesOf(channel, destination),
      });
      if (!row) return [];
      const hasParts = CHANNEL[channel].parts;
      const units = isPerPart(row) && !hasParts ? unitsOf(channel) : 1;
      const { refundUndelivered } = row;
      const once = hasParts && !isPerPart(row) ? { perPart: false } : {};
      return [{ channel, prefix, unitMicros: row.unitMicros * units, refundUndelivered, ...once }];
    }),
  );
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
