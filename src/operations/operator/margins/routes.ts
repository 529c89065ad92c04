import { type Static, Type } from 'typebox';
import { listUnderCost, type UnderCost } from '../../../money/under-cost/find.ts';
import { invalidFields } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { orNull } from '../../../platform/lib/schema.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { amount, OPERATOR_PATH } from '../fields.ts';
import { MarginFigures, marginFigures, toMarginOut } from './margin.ts';
import { findMargin, GROUPINGS, listMargins } from './sql.ts';

const tags = ['Operator: costs'];
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
    schema: {
      tags,
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
    schema: {
      tags,
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
