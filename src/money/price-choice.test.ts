import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { listPrices, listPricesOf, PRICE_CATEGORIES, type Price, type PriceCategory, setPrice } from './prices.ts';
import { explainPrice, narrowPrices, type PriceQuery, priceRows, pricing } from './pricing.ts';

const { pool } = testDatabase();

const CASES = 300;
const ROWS = 400;

/** Yields the same numbers in every run (Park and Miller, "Random number generators", 1988). */
function createDice(seed: number) {
  let state = seed;
  const below = (limit: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  const of = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  return { below, of };
}

const PREFIXES = ['', '3', '39', '393', '3934', '39347', '1', '12', '1212', '351', '3519', '49'] as const;
const DAYS = [null, '2026-01-01', '2026-07-01', '2026-10-01', '2027-04-01'] as const;
const WINDOWS = ['*', 'IN_WINDOW', 'FREE_ENTRY'] as const;
const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;

function makeRows(dice: ReturnType<typeof createDice>): Price[] {
  const rows = new Map<string, Price>();
  for (let id = 1; rows.size < ROWS; id++) {
    const channel = dice.of(CHANNELS);
    const day = dice.of(DAYS);
    const place = {
      channel,
      prefix: dice.of(PREFIXES),
      accountId: dice.of([null, null, 1, 2]),
      category: dice.of(['*', ...PRICE_CATEGORIES[channel]]),
      window: channel === 'WHATSAPP' ? dice.of(WINDOWS) : '*',
      validFrom: day === null ? null : new Date(day),
      currency: dice.of(['EUR', 'EUR', 'EUR', 'USD']),
    };
    const perPart = dice.of([true, false]);
    rows.set(JSON.stringify(place), {
      ...place,
      id,
      unitMicros: id,
      perPart,
      refundUndelivered: dice.of([true, false]),
    });
  }
  return [...rows.values()];
}

function makeQuery(dice: ReturnType<typeof createDice>): PriceQuery {
  const channel = dice.of(CHANNELS);
  const all: readonly PriceCategory[] = PRICE_CATEGORIES[channel];
  const categories = Array.from({ length: dice.below(3) }, () => (all.length > 0 ? [dice.of(all)] : [])).flat();
  return {
    channel,
    destination: `+${dice.of(['393471234567', '39061234567', '12125550100', '13055550100', '351912345678', '4930123', '81312345678'])}`,
    parts: 1 + dice.below(4),
    accountId: dice.of([1, 2, 3]),
    categories: [...new Set(categories)],
    windows: dice.of([[], ['IN_WINDOW'], ['FREE_ENTRY'], ['FREE_ENTRY', 'IN_WINDOW']] as const),
    at: new Date(dice.of(['2025-12-31', '2026-01-01', '2026-08-01', '2026-12-01', '2027-06-01'])),
    currency: dice.of(['EUR', 'USD']),
  };
}

/** The same choice without any index: every row is compared with every other by the rules in turn. */
function expectedRow(rows: readonly Price[], query: PriceQuery): Price | undefined {
  const { channel, destination, accountId, categories = [], windows = [], at, currency } = query;
  const rankOf = (value: string, wanted: readonly string[]): number => (value === '*' ? 99 : wanted.indexOf(value));
  const fits = (row: Price): boolean =>
    row.channel === channel &&
    row.currency === currency &&
    destination.slice(1).startsWith(row.prefix) &&
    (row.accountId === null || row.accountId === accountId) &&
    rankOf(row.category, categories) >= 0 &&
    rankOf(row.window, windows) >= 0 &&
    (row.validFrom === null || row.validFrom <= (at as Date));
  const keys = (row: Price): number[] => [
    row.accountId === null ? 1 : 0,
    -row.prefix.length,
    rankOf(row.category, categories),
    rankOf(row.window, windows),
    row.validFrom === null ? 0 : -row.validFrom.getTime(),
  ];
  let best: Price | undefined;
  for (const row of rows.filter(fits)) {
    const [a, b] = [keys(row), best ? keys(best) : [Number.POSITIVE_INFINITY]];
    const at = a.findIndex((key, i) => key !== b[i]);
    if (at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)) best = row;
  }
  return best;
}

test('in 300 cases, account, prefix, category, window and date decide the price in this order', () => {
  const dice = createDice(20_261_001);
  const rows = makeRows(dice);
  const [find, price] = [priceRows(rows), pricing(rows)];
  const chosen = Array.from({ length: CASES }, () => {
    const query = makeQuery(dice);
    const row = expectedRow(rows, query);
    expect(find(query), JSON.stringify(query)).toEqual(row);
    expect(explainPrice(rows, query)?.row).toEqual(row);
    const micros = row && row.unitMicros * (row.perPart ? query.parts : 1);
    expect(price(query)?.priceMicros).toBe(micros);
    return row;
  });
  // The cases would prove little if one kind of row decided them all.
  const share = (isSo: (row: Price) => boolean): number => chosen.filter((row) => row && isSo(row)).length;
  expect(share((row) => row.accountId !== null)).toBeGreaterThan(30);
  expect(share((row) => row.accountId === null)).toBeGreaterThan(30);
  expect(share((row) => row.category !== '*')).toBeGreaterThan(30);
  expect(share((row) => row.window !== '*')).toBeGreaterThan(15);
  expect(share((row) => row.validFrom !== null)).toBeGreaterThan(30);
});

test('a list narrowed to messages that agree in all but number and parts gives them the same prices', () => {
  const dice = createDice(7);
  const rows = makeRows(dice).filter(({ currency }) => currency === 'EUR');
  for (let i = 0; i < CASES; i++) {
    const { accountId = 1, at = null, categories = [], ...query } = makeQuery(dice);
    const alike = { accountId, at, categoriesOf: () => categories, prefixes: [], unitsOf: () => query.parts };
    const narrowed = pricing(
      narrowPrices(
        rows.filter(({ channel }) => channel === query.channel),
        alike,
      ),
    );
    const { channel, destination, parts } = query;
    expect(narrowed({ channel, destination, parts })?.priceMicros).toBe(
      pricing(rows)({ channel, destination, parts, accountId, at, categories })?.priceMicros,
    );
  }
});

test('an account gets its own prices and those of all in its currency, never those of another account', async () => {
  const [own, other] = [await createAccountWithCredit(pool, 0), await createAccountWithCredit(pool, 0)];
  const set = (price: number, more: object = {}) =>
    transaction(pool, (tx) =>
      setPrice(tx, { by: 'Ada', channel: 'WHATSAPP', prefix: '39', price, refundUndelivered: true, ...more }),
    );
  await set(0.01);
  await set(0.02, { accountId: own, category: 'marketing' });
  await set(0.03, { accountId: other });
  await set(0.04, { currency: 'USD' });
  const micros = (await listPricesOf(pool, { accountId: own })).filter(({ prefix }) => prefix === '39');
  expect(micros.map(({ unitMicros }) => unitMicros).sort()).toEqual([10_000, 20_000]);
  expect((await listPrices(pool)).filter(({ prefix }) => prefix === '39')).toHaveLength(4);
});

test.each([
  [{ category: 'basic' }, 'category'],
  [{ channel: 'SMS', category: 'marketing' }, 'category'],
  [{ channel: 'SMS', window: 'IN_WINDOW' }, 'window'],
  [{ accountId: 999_999 }, 'accountId'],
])('a price with %j is rejected and names %s', async (more, field) => {
  const before = await listPrices(pool);
  const input = { by: 'Ada', channel: 'WHATSAPP', prefix: '', price: 1, refundUndelivered: false, ...more } as const;
  await expect(transaction(pool, (tx) => setPrice(tx, input as Parameters<typeof setPrice>[1]))).rejects.toMatchObject({
    details: [{ field }],
  });
  expect(await listPrices(pool)).toEqual(before);
});
