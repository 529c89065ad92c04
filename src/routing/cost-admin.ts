import { type Static, Type } from 'typebox';
import {
  amount,
  connectionField,
  Done,
  IdParams,
  OPERATOR_PATH,
  operatorNameOf,
  PrefixField,
} from '../accounts/operator-fields.ts';
import { as, columns, type Db, maybeOne, one, pageRows, type Paging, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { answerPage, type App, PageOf, pageFields, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal } from '../core/http/idempotency.ts';
import { fromMicros } from '../core/money.ts';
import { orNull } from '../core/schema.ts';
import { importCosts, readCostFile, removeCost, setCost } from './costs.ts';

const tags = ['Operator: costs'];
const COSTS = `${OPERATOR_PATH}/costs`;

const ConnectionName = Type.String({ maxLength: 63, description: 'The name of a connection.' });
const NetworkField = Type.String({
  pattern: String.raw`^\d{5,6}$`,
  description: 'MCC and MNC of a mobile network, such as 22201. A cost for the network goes before one without.',
  'x-message': 'must be MCC and MNC: 5 or 6 digits, such as 22201',
});

const CostOut = Type.Object({
  id: Type.Integer(),
  connection: Type.String(),
  prefix: Type.String({
    description: 'Leading digits without the plus sign; the longest matching prefix decides. Empty: all numbers.',
  }),
  network: orNull(NetworkField),
  price: amount('Charge of the carrier, in currency units: per part on SMS, per message on other channels.'),
});

const CostIn = Type.Object({
  connection: ConnectionName,
  prefix: PrefixField,
  network: Type.Optional(NetworkField),
  price: Type.Number({ minimum: 0, description: 'Currency units, at most 6 decimals.' }),
});

const ImportIn = Type.Object({
  connection: ConnectionName,
  csv: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description:
      "A carrier's price list as CSV, with headings: `prefix` and/or `network` (or `mcc` and `mnc`), and `price`. Other columns are ignored.",
  }),
  replace: Type.Optional(
    Type.Boolean({
      description: 'True to remove costs of the connection that are not in the list. Default: false.',
    }),
  ),
});
const ImportOut = Type.Object({
  set: Type.Integer({ description: 'The number of costs in the list.' }),
  removed: Type.Integer({ description: 'With `replace`: the number of costs that the connection had before.' }),
});

const CostQuery = Type.Object({ ...pageFields, connection: connectionField, prefix: Type.Optional(PrefixField) });

/** Registers the routes for the charges of carriers. Running programs follow every change immediately. */
export function operatorCostRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(COSTS, {
    onRequest,
    config: { command: 'cost list' },
    schema: {
      tags,
      operationId: 'operatorListCosts',
      summary: 'List the charges of carriers',
      description: '`prefix` selects the prefixes that begin with it.',
      querystring: CostQuery,
      response: { 200: PageOf(CostOut) },
    },
    handler: ({ query }) => answerPage(query, listCosts(pool, query), toCostOut),
  });

  app.put(COSTS, {
    onRequest,
    config: { command: 'cost set' },
    schema: {
      tags,
      operationId: 'operatorSetCost',
      summary: 'Set the charge of a carrier for a prefix and network',
      body: withExamples(CostIn, { connection: 'acme-smsc', prefix: '423', network: '29505', price: 0.031 }),
      response: { 200: CostOut },
    },
    handler: ({ actor, body: { network = null, ...rest } }) =>
      transaction(pool, async (tx) => {
        await setCost(tx, { ...rest, network, by: operatorNameOf(actor) });
        return toCostOut(await findCostAt(tx, { ...rest, network }));
      }),
  });

  app.delete(`${COSTS}/:id`, {
    onRequest,
    config: { command: 'cost remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteCost',
      summary: 'Delete a cost',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }) => {
      await transaction(pool, async (tx) => {
        const cost = await findCost(tx, params);
        if (!cost) throw new AppError('not_found', { message: 'There is no such cost' });
        const { connection, prefix, network } = cost;
        await removeCost(tx, { connection, prefix, network, by: operatorNameOf(actor) });
      });
    },
  });

  app.post(`${COSTS}/import`, {
    onRequest,
    config: { command: 'cost import <csv>' },
    schema: {
      tags,
      operationId: 'operatorImportCosts',
      summary: "Import a carrier's price list",
      description: 'All lines are imported or none; a 400 names each invalid line.',
      body: withExamples(ImportIn, {
        connection: 'acme-smsc',
        csv: 'Country,MCC,MNC,Prefix,Price\nLiechtenstein,295,05,423,0.031\nLiechtenstein,,,423,0.034\n',
      }),
      response: { 200: ImportOut },
    },
    handler: idempotentGlobal(deps, 200, async ({ actor, body: { connection, csv, replace = false } }, tx) =>
      importCosts(tx, { connection, replace, costs: readCostFile(csv), by: operatorNameOf(actor) }),
    ),
  });
}

const toCostOut = ({ unitMicros, ...cost }: CostRow): Static<typeof CostOut> => ({
  ...cost,
  price: fromMicros(unitMicros),
});

const COST = columns({
  id: as<number>('k.id'),
  connection: as<string>('c.name'),
  prefix: as<string>('k.prefix'),
  network: as<string | null>('k.network'),
  /** Per part on SMS, and per message on other channels. */
  unitMicros: as<number>('k.unit_micros'),
});
type CostRow = RowOf<typeof COST>;

const COST_ROWS = sql`connection_cost k JOIN connection c ON c.id = k.connection_id`;

/** Reads a page of the costs; `prefix` are the digits with which their prefixes begin. */
const listCosts = (
  db: Db,
  {
    connection = null,
    prefix = null,
    ...page
  }: Paging & { readonly connection?: string | null; readonly prefix?: string | null },
) =>
  pageRows(
    db,
    {
      columns: COST,
      from: sql`FROM ${COST_ROWS} WHERE (${connection}::text IS NULL OR c.name = ${connection})
        AND (${prefix}::text IS NULL OR starts_with(k.prefix, ${prefix}))`,
      order: sql`c.name, k.prefix, k.network NULLS FIRST`,
    },
    page,
  );

async function findCost(db: Db, { id }: { id: number }): Promise<CostRow | undefined> {
  return maybeOne(db, sql`SELECT ${COST} FROM ${COST_ROWS} WHERE k.id = ${id}`);
}

/** Finds the cost that is stored for exactly this key. */
async function findCostAt(
  db: Db,
  { connection, prefix, network }: { connection: string; prefix: string; network: string | null },
): Promise<CostRow> {
  return one(
    db,
    sql`SELECT ${COST} FROM ${COST_ROWS}
        WHERE c.name = ${connection} AND k.prefix = ${prefix} AND k.network IS NOT DISTINCT FROM ${network}`,
  );
}
