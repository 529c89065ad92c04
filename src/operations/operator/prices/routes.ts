import { type Static, Type } from 'typebox';
import { removePrice, setPrice } from '../../../money/pricing/change.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';
import { operatorNameOf } from '../author.ts';
import { amount, digitsOf, Done, IdParams, NumberField, OPERATOR_PATH, PrefixField } from '../fields.ts';
import { countPrices, findPrice, findPriceFor, listPricePage, type PriceRow } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

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
    schema: {
      tags,
      operationId: 'operatorCheckPrice',
      summary: 'Find the price of a number',
      querystring: CheckQuery,
      response: { 200: Type.Object({ price: orNull(PriceOut) }) },
    },
    handler: async ({ query }) => {
      const found = await findPriceFor(pool, { channel: query.channel, digits: digitsOf(query.number) });
      return { price: found ? toPriceOut(found) : null };
    },
  });
}

const toPriceOut = ({ unitMicros, ...price }: PriceRow): Static<typeof PriceOut> => ({
  ...price,
  price: fromMicros(unitMicros),
});
