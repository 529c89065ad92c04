import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import {
  amount,
  digitsOf,
  Done,
  IdParams,
  isoOrNull,
  NumberField,
  OPERATOR_PATH,
  operatorNameOf,
  PrefixField,
} from '../accounts/operator-fields.ts';
import type { Channel } from '../core/channels.ts';
import {
  as,
  columns,
  type Db,
  many,
  maybeOne,
  one,
  pageRows,
  type Paging,
  type RowOf,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, id, instant, knownFieldsOf, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import {
  ANY,
  listPrices,
  listPricesOf,
  PRICE,
  type Price,
  PRICE_CATEGORIES,
  PRICE_ORDER,
  PRICE_WINDOWS,
  removePrice,
  setPrice,
} from './prices.ts';
import { explainPrice, priceBy, priceRows } from './pricing.ts';
import { listUnderCost, type UnderCost } from './under-cost.ts';

const tags = ['Operator: prices'];
const PRICES = `${OPERATOR_PATH}/prices`;

const Category = Type.Enum([ANY, ...new Set(Object.values(PRICE_CATEGORIES).flat())], {
  type: 'string',
  description:
    'The category in which the network bills the message: on WhatsApp that of its template, `service` for all else; on ' +
    'RCS by its content. `*`: any.',
});
const WindowField = Type.Enum([ANY, ...PRICE_WINDOWS], {
  type: 'string',
  description:
    '`IN_WINDOW`: within 24 hours after a message from the person; `FREE_ENTRY`: within 72 hours after the reply, ' +
    'within 24 hours, to one that came from an advertisement; `FREE`: a service message within `WHATSAPP_FREE_MESSAGES`. All on WhatsApp. `*`: always.',
});
const PerPart = Type.Boolean({
  description: 'True if each part of an SMS is charged, or each segment of 160 bytes of a text on RCS.',
});
const Currency = Type.String({
  pattern: '^[A-Z]{3}$',
  description: 'ISO 4217. The price is for accounts with this currency.',
  'x-message': 'must be three capital letters, such as EUR',
});

const PriceOut = Type.Object({
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({
    description: 'Leading digits without the plus sign; the longest matching prefix decides. Empty: all numbers.',
  }),
  accountId: orNull(id('The account with this price; its own prices go before all others. Null: all accounts.')),
  category: Category,
  window: WindowField,
  price: amount('Currency units: per part if `perPart`, per message otherwise.'),
  perPart: PerPart,
  refundUndelivered: Type.Boolean({ description: 'True if the price is refunded when the message is not delivered.' }),
  validFrom: orNull(instant('The newest price that is valid at the time of sending counts. Null: since ever.')),
  currency: Currency,
});

const PriceIn = Type.Object({
  channel: channelName(),
  prefix: PrefixField,
  price: Type.Number({ minimum: 0, description: 'Currency units, at most 6 decimals.' }),
  refundUndelivered: Type.Optional(Type.Boolean({ description: 'Default: false.' })),
  accountId: Type.Optional(orNull(id('The account with this price; default: all accounts.'))),
  category: Type.Optional(Category),
  window: Type.Optional(WindowField),
  perPart: Type.Optional(PerPart),
  validFrom: Type.Optional(orNull(instant('Default: since ever.'))),
  currency: Type.Optional(Currency),
});

const PriceQuery = Type.Object({
  ...pageFields,
  channel: Type.Optional(channelName()),
  prefix: Type.Optional(PrefixField),
  accountId: Type.Optional(id('Only the prices of this account.')),
});
const CheckQuery = Type.Object({ channel: channelName(), number: NumberField });

const ExplainQuery = Type.Object({
  ...CheckQuery.properties,
  accountId: Type.Optional(id('The account that sends.')),
  category: Type.Optional(Category),
  window: Type.Optional(WindowField),
  parts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default: 1.' })),
  at: Type.Optional(instant('Time of sending; default: now.')),
});

const ExplainOut = Type.Object({
  price: orNull(PriceOut),
  total: orNull(amount('The price of the whole message.')),
  reasons: Type.Array(Type.String(), { description: 'The reasons why this price counts, in the order of the choice.' }),
  passedOver: Type.Array(PriceOut, { description: 'Other prices that apply to the message, the next one first.' }),
});

/** Maximum prices that were not chosen and are listed. */
const MAX_PASSED_OVER = 20;

/** Registers the routes for the price list. Running programs follow every change immediately. */
export function operatorPriceRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(PRICES, {
    onRequest,
    config: { command: 'price list' },
    schema: {
      tags,
      operationId: 'operatorListPrices',
      summary: 'List the prices',
      description: '`prefix` selects the prefixes that begin with it.',
      querystring: PriceQuery,
      response: { 200: PageOf(PriceOut) },
    },
    handler: ({ query }) => answerPage(query, listPricePage(pool, query), toPriceOut),
  });

  app.put(PRICES, {
    onRequest,
    config: { command: 'price set' },
    schema: {
      tags,
      operationId: 'operatorSetPrice',
      summary: 'Set the price of a channel and prefix',
      description:
        'With conditions it is for those messages only. A message has the price of its account before that for all; ' +
        'then that of the longest prefix, of its category before `*`, of its window before `*`, and the newest that is ' +
        'valid. Setting a price with the same conditions again changes it.',
      body: withExamples(PriceIn, { channel: 'SMS', prefix: '423', price: 0.055 }),
      response: { 200: PriceOut },
    },
    handler: ({ actor, body }) => {
      const { refundUndelivered = false, validFrom = null, ...rest } = knownFieldsOf(PriceIn, body);
      const from = validFrom === null ? null : new Date(validFrom);
      const input = { ...rest, validFrom: from, refundUndelivered, by: operatorNameOf(actor) };
      return transaction(pool, async (tx) => toPriceOut(await setPrice(tx, input)));
    },
  });

  app.delete(`${PRICES}/:id`, {
    onRequest,
    config: { command: 'price remove' },
    schema: {
      tags,
      operationId: 'operatorDeletePrice',
      summary: 'Delete a price',
      description: 'Messages without a price are rejected.',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, async (tx) => {
        const price = await findPrice(tx, params);
        if (!price) throw new AppError('not_found', { message: 'There is no such price' });
        await removePrice(tx, { ...price, by: operatorNameOf(actor) });
      });
      return reply.code(204).send(null);
    },
  });

  app.get(`${PRICES}/check`, {
    onRequest,
    config: { command: 'price check' },
    schema: {
      tags,
      operationId: 'operatorCheckPrice',
      summary: 'Find the price of a number',
      querystring: CheckQuery,
      response: { 200: Type.Object({ price: orNull(PriceOut) }) },
    },
    handler: async ({ query }) => {
      const find = priceRows(await listPrices(pool));
      const found = find({ channel: query.channel, destination: `+${digitsOf(query.number)}`, parts: 1 });
      return { price: found ? toPriceOut(found) : null };
    },
  });

  app.get(`${PRICES}/explain`, {
    onRequest,
    config: { command: 'price explain' },
    schema: {
      tags,
      operationId: 'operatorExplainPrice',
      summary: 'Explain the price of a message',
      description: 'The price that counts for a message with these properties, and why.',
      querystring: ExplainQuery,
      response: { 200: ExplainOut },
    },
    handler: async ({ query }) => explain(pool, query),
  });
}

async function explain(pool: Pool, query: Static<typeof ExplainQuery>): Promise<Static<typeof ExplainOut>> {
  const { accountId, channel, number, category = ANY, window = ANY, parts = 1, at } = query;
  const rows = accountId === undefined ? await listPrices(pool) : await listPricesOf(pool, { accountId });
  const chosen = explainPrice(rows, {
    channel,
    destination: `+${digitsOf(number)}`,
    parts,
    categories: category === ANY ? [] : [category],
    windows: window === ANY ? [] : [window],
    at: at === undefined ? null : new Date(at),
    ...(accountId !== undefined && { accountId }),
  });
  if (!chosen) return { price: null, total: null, reasons: ['No price applies to the message'], passedOver: [] };
  return {
    price: toPriceOut(chosen.row),
    total: fromMicros(priceBy(chosen.row, { parts }).priceMicros),
    reasons: reasonsOf(chosen.row),
    passedOver: chosen.passedOver.slice(0, MAX_PASSED_OVER).map(toPriceOut),
  };
}

const reasonsOf = ({ accountId, prefix, category, window, validFrom }: Price): string[] => [
  accountId === null ? 'No price of the account itself applies' : 'The account has its own price',
  prefix === '' ? 'No price has a prefix that fits the number' : `${prefix} is the longest prefix that fits the number`,
  category === ANY ? 'No price there is for its category alone' : `It is for the category ${category}`,
  window === ANY ? 'No price there is for its window alone' : `It is for the window ${window}`,
  validFrom === null ? 'It is valid since ever' : `It is the newest, valid from ${validFrom.toISOString()}`,
];

const toPriceOut = ({ unitMicros, validFrom, category, window, ...price }: Price): Static<typeof PriceOut> => ({
  ...price,
  category: category as Static<typeof Category>,
  window: window as Static<typeof WindowField>,
  price: fromMicros(unitMicros),
  validFrom: isoOrNull(validFrom),
});

type PriceFilter = Paging & {
  readonly accountId?: number | null;
  readonly channel?: Channel | null;
  readonly prefix?: string | null;
};

/** Reads a page of prices; `prefix` are the digits with which their prefixes begin. */
const listPricePage = (db: Db, { channel = null, prefix = null, accountId = null, ...page }: PriceFilter) =>
  pageRows(
    db,
    {
      columns: PRICE,
      from: sql`FROM price WHERE (${channel}::text IS NULL OR channel = ${channel})
        AND (${prefix}::text IS NULL OR starts_with(prefix, ${prefix}))
        AND (${accountId}::bigint IS NULL OR owner_id = ${accountId})`,
      order: PRICE_ORDER,
    },
    page,
  );

async function findPrice(db: Db, { id }: { id: number }): Promise<Price | undefined> {
  return maybeOne(db, sql`SELECT ${PRICE} FROM price WHERE id = ${id}`);
}

/** The fields of a margin in responses. */
export const marginFigures = {
  messages: Type.Integer({ description: 'Messages that the carrier accepted, or may have accepted.' }),
  units: Type.Integer({ description: 'Units by which carriers count them: parts on SMS.' }),
  uncosted: Type.Integer({ description: 'Those of `messages` whose cost was not known when they were sent.' }),
  earned: amount('Revenue of them so far, in currency units; refundable prices are earned with the delivery.'),
  cost: amount('Charges of carriers for them, in currency units, at the costs that were valid then.'),
  margin: amount('`earned` less `cost`.'),
};

const MarginFigures = Type.Object(marginFigures);

/** Writes a margin with amounts in currency units. */
export const toMarginOut = ({ earnedMicros, costMicros, ...counts }: Margin) => ({
  ...counts,
  earned: fromMicros(earnedMicros),
  cost: fromMicros(costMicros),
  margin: fromMicros(earnedMicros - costMicros),
});

const GROUPINGS = ['account', 'country', 'connection'] as const;
type Grouping = (typeof GROUPINGS)[number];

const SUMS = columns({
  messages: as<number>('coalesce(sum(d.messages), 0)::bigint'),
  units: as<number>('coalesce(sum(d.units), 0)::bigint'),
  uncosted: as<number>('coalesce(sum(d.uncosted), 0)::bigint'),
  earnedMicros: as<number>('coalesce(sum(d.earned_micros), 0)::bigint'),
  costMicros: as<number>('coalesce(sum(d.cost_micros), 0)::bigint'),
});
type Margin = RowOf<typeof SUMS>;

const NAMED: Readonly<Record<Grouping, { name: Sql; from: Sql }>> = {
  account: { name: sql`a.name`, from: sql`JOIN account a ON a.id = d.account_id` },
  country: { name: sql`d.country`, from: sql`` },
  connection: { name: sql`c.name`, from: sql`LEFT JOIN connection c ON c.id = d.connection_id` },
};

type Range = { readonly from: Date; readonly to: Date };

const within = ({ from, to }: Range): Sql => sql`WHERE d.day >= ${from} AND d.day < ${to}`;

/**
 * Lists the margins of the days in [from, to), the smallest first. `name` is that of the account or of the connection (null
 * if that was removed), or the calling code of the country.
 */
async function listMargins(
  db: Db,
  { by, limit, ...range }: Range & { readonly by: Grouping; readonly limit: number },
): Promise<(Margin & { name: string | null })[]> {
  const { name, from } = NAMED[by];
  const named = columns({ name: as<string | null>(name) });
  return many(
    db,
    sql`SELECT ${named}, ${SUMS} FROM margin_day d ${from} ${within(range)}
        GROUP BY 1 ORDER BY sum(d.earned_micros) - sum(d.cost_micros), 1 LIMIT ${limit}`,
  );
}

/** Finds the margin of all messages of the days in [from, to). */
export async function findMargin(db: Db, range: Range): Promise<Margin> {
  return one(db, sql`SELECT ${SUMS} FROM margin_day d ${within(range)}`);
}

const marginTags = ['Operator: costs'];
const MARGINS = `${OPERATOR_PATH}/margins`;
/** More rows than a person reads; accounts, countries and connections are far fewer in most installations. */
const MAX_ROWS = 1000;
const DEFAULT_DAYS = 30;

const MarginsOut = Type.Object({
  total: MarginFigures,
  data: Type.Array(
    Type.Object({
      name: orNull(
        Type.String({
          description:
            'The name of the account or connection (null if it was removed), or the calling code of the country.',
        }),
      ),
      ...marginFigures,
    }),
  ),
});

const Day = (description: string) => Type.Optional(Type.String({ format: 'date', description }));

const MarginQuery = Type.Object({
  by: Type.Enum([...GROUPINGS], { type: 'string' }),
  from: Day('The first day, in UTC. Default: 30 days ago.'),
  to: Day('The last day, in UTC. Default: today.'),
});

const UnderCostOut = Type.Object({
  routeId: Type.Integer(),
  connection: Type.String(),
  routePrefix: Type.String({ description: 'The prefix of the route.' }),
  conditions: orNull(
    Type.String({ description: 'The messages to these numbers that the route takes; null if it takes all.' }),
  ),
  prefix: Type.String({ description: 'The numbers of the route with the largest loss.' }),
  network: orNull(Type.String({ description: 'MCC and MNC, if the loss is that of one network.' })),
  price: amount('The selling price of a part.'),
  cost: amount('Charge of the carrier for it.'),
});

export function operatorMarginRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(MARGINS, {
    onRequest,
    config: { command: 'margin list' },
    schema: {
      tags: marginTags,
      operationId: 'operatorListMargins',
      summary: 'List margins by account, country or connection, the smallest first',
      description: 'Counts only messages over connections with known costs.',
      querystring: MarginQuery,
      response: { 200: MarginsOut },
    },
    handler: async ({ query }) => {
      const range = rangeOf(query, new Date());
      const rows = await listMargins(pool, { by: query.by, ...range, limit: MAX_ROWS });
      return {
        total: toMarginOut(await findMargin(pool, range)),
        data: rows.map(({ name, ...margin }) => ({ name, ...toMarginOut(margin) })),
      };
    },
  });

  app.get(`${MARGINS}/under-cost`, {
    onRequest,
    config: { command: 'margin under-cost' },
    schema: {
      tags: marginTags,
      operationId: 'operatorListRoutesUnderCost',
      summary: 'List the routes priced below cost',
      response: { 200: Type.Object({ data: Type.Array(UnderCostOut) }) },
    },
    handler: async () => ({ data: (await listUnderCost(pool)).map(toUnderCostOut) }),
  });
}

type Days = { readonly from?: string; readonly to?: string };

function rangeOf({ from, to }: Days, now: Date): { from: Date; to: Date } {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const last = to === undefined ? today : Date.parse(to);
  const first = from === undefined ? last - DEFAULT_DAYS * DAY_MS : Date.parse(from);
  if (first > last) throw invalidFields([{ field: 'from', message: 'must not be after to' }]);
  return { from: new Date(first), to: new Date(last + DAY_MS) };
}

const toUnderCostOut = ({ priceMicros, costMicros, ...rest }: UnderCost): Static<typeof UnderCostOut> => ({
  ...rest,
  price: fromMicros(priceMicros),
  cost: fromMicros(costMicros),
});
