import { type Static, Type } from 'typebox';
import {
  amount,
  Done,
  digitsOf,
  IdParams,
  NumberField,
  OPERATOR_PATH,
  operatorNameOf,
  PrefixField,
} from '../accounts/operator-fields.ts';
import type { Channel } from '../core/channels.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { listPrices, PRICE, type Price, priceRows, removePrice, setPrice } from './prices.ts';
import { listUnderCost, type UnderCost } from './under-cost.ts';

const tags = ['Operator: prices'];
const PRICES = `${OPERATOR_PATH}/prices`;

const PriceOut = Type.Object({
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({
    description: 'Leading digits without the plus sign; the longest matching prefix decides. Empty: all numbers.',
  }),
  price: amount('Currency units: per part on SMS, per message on other channels.'),
  refundUndelivered: Type.Boolean({ description: 'True if the price is refunded when the message is not delivered.' }),
});

const PriceIn = Type.Object({
  channel: channelName(),
  prefix: PrefixField,
  price: Type.Number({ minimum: 0, description: 'Currency units, at most 6 decimals.' }),
  refundUndelivered: Type.Optional(Type.Boolean({ description: 'Default: false.' })),
});

const PriceQuery = Type.Object({
  ...pageFields,
  channel: Type.Optional(channelName()),
  prefix: Type.Optional(PrefixField),
});
const CheckQuery = Type.Object({ channel: channelName(), number: NumberField });

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
    handler: async ({ query }) => {
      const filter = { channel: query.channel ?? null, prefix: query.prefix ?? null };
      const rows = await listPricePage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toPriceOut), await countPrices(pool, filter));
    },
  });

  app.put(PRICES, {
    onRequest,
    config: { command: 'price set' },
    schema: {
      tags,
      operationId: 'operatorSetPrice',
      summary: 'Set the price of a channel and prefix',
      body: withExamples(PriceIn, { channel: 'SMS', prefix: '423', price: 0.055 }),
      response: { 200: PriceOut },
    },
    handler: ({ actor, body }) => {
      const { refundUndelivered = false, ...rest } = body;
      const input = { ...rest, refundUndelivered, by: operatorNameOf(actor) };
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
        await removePrice(tx, { channel: price.channel, prefix: price.prefix, by: operatorNameOf(actor) });
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
}

const toPriceOut = ({ unitMicros, ...price }: Price): Static<typeof PriceOut> => ({
  ...price,
  price: fromMicros(unitMicros),
});

type Filter = {
  readonly channel: Channel | null;
  /** The digits with which the prefixes begin. */
  readonly prefix: string | null;
};

const matches = ({ channel, prefix }: Filter) => sql`FROM price
  WHERE (${channel}::text IS NULL OR channel = ${channel}) AND (${prefix}::text IS NULL OR starts_with(prefix, ${prefix}))`;

async function listPricePage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<Price[]> {
  return many(
    db,
    sql`SELECT ${PRICE} ${matches(filter)} ORDER BY channel, prefix LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

async function countPrices(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(filter)}`)).total;
}

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

/** Groupings of margins. */
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

/** Registers the routes for the margins of the gateway. */
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
