import { CsvError, parse } from 'csv-parse/sync';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { detectDelimiter } from '../core/csv.ts';
import { bigint, insertRows, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, type RowOf, sql } from '../core/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { toMicros } from '../core/money.ts';
import { numberForPrefix, type PrefixTable, prefixesIn, prefixTable } from '../core/phone.ts';
import { connectionNamed, notifyRoutingChange } from './connection-store.ts';

type Place = {
  readonly connection: string;
  /** Leading digits without the plus; empty for all numbers. */
  readonly prefix: string;
  /** MCC and MNC, such as 22201; null for any network. */
  readonly network: string | null;
};

type By = { readonly by: string };

type CostInput = Place & {
  /** Currency units: per part on SMS, per message elsewhere. */
  readonly price: number;
};

/**
 * Sets the charge of a connection's carrier for a prefix, in one network or in any; running processes follow
 * immediately. Call it in a transaction. Errors: 400 naming the invalid fields, 404 for the connection.
 */
export async function setCost(tx: Db, { by, ...input }: CostInput & By): Promise<void> {
  const { connection, price, ...place } = input;
  const unitMicros = toMicros(price);
  const isPrice = unitMicros !== null && unitMicros >= 0;
  const errors = [...(isPrice ? [] : [BAD_PRICE]), ...faultsOf(place)];
  if (errors.length > 0 || unitMicros === null) throw invalidFields(errors);
  const { id: connectionId } = await connectionNamed(tx, connection);
  await insertCosts(tx, { costs: [{ connectionId, ...place, unitMicros }] });
  await record(tx, { by, action: 'cost.set', connection, detail: { ...place, price } });
}

const BAD_PRICE = { field: 'price', message: 'must be an amount from 0 with at most 6 decimals' };

function faultsOf({ prefix, network }: Omit<Place, 'connection'>): FieldError[] {
  return [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(network === null || /^\d{5,6}$/.test(network)
      ? []
      : [{ field: 'network', message: 'must be MCC and MNC: 5 or 6 digits, such as 22201' }]),
  ];
}

/** Removes the cost of a place. Call it in a transaction. Errors: 404. */
export async function removeCost(tx: Db, { by, connection, ...place }: Place & By): Promise<void> {
  const { id: connectionId } = await connectionNamed(tx, connection);
  if ((await deleteCost(tx, { connectionId, ...place })) === 0)
    throw new AppError('not_found', { message: 'There is no such cost' });
  await record(tx, { by, action: 'cost.remove', connection, detail: place });
}

type CostImport = {
  readonly connection: string;
  /** True if the list is complete: costs that are not in it are removed. */
  readonly replace: boolean;
  readonly costs: readonly ListedCost[];
};

/**
 * Imports the price list of a carrier: its costs are set, and with `replace` all others of the connection removed. Call
 * it in a transaction. Returns how many costs were set, and how many previous ones were removed or replaced by
 * `replace`. Errors: 404 for the connection.
 */
export async function importCosts(
  tx: Db,
  { by, connection, replace, costs }: CostImport & By,
): Promise<{ set: number; removed: number }> {
  const { id: connectionId } = await connectionNamed(tx, connection);
  const removed = replace ? await deleteCostsOf(tx, { connectionId }) : 0;
  await insertCosts(tx, { costs: costs.map((cost) => ({ connectionId, ...cost })) });
  const counts = { set: costs.length, removed };
  await record(tx, { by, action: 'cost.import', connection, detail: counts });
  return counts;
}

type Change = By & { readonly action: string; readonly connection: string; readonly detail: object };

async function record(tx: Db, { by, action, connection, detail }: Change): Promise<void> {
  const subject = `connection:${connection}`;
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject, detail: { ...detail } });
  await notifyRoutingChange(tx);
}

/**
 * Returns the charge of a connection's carrier for a number, in millionths: per part on SMS, per message elsewhere.
 * Null if not set. A cost for the network (MCC and MNC, such as 22201) goes before one for the prefix alone; then the
 * longest prefix decides. `destination` is E.164 with its plus, or the user id of a person on WhatsApp who shows no
 * number.
 */
export type FindCost = (connectionId: number, destination: string, network?: string | null) => number | null;

/** Look-up of the costs of connections. */
export type Costs = {
  readonly find: FindCost;
  /** Returns true if any cost is set for a connection: margins are kept for those alone. */
  isPriced(connectionId: number): boolean;
  /**
   * Returns true if the cost of a connection for a number, in E.164 with its plus, depends on the network of the
   * number.
   */
  dependsOnNetwork(connectionId: number, destination: string): boolean;
};

/** Costs of an installation where none is set. */
export const NO_COSTS: Costs = { find: () => null, isPriced: () => false, dependsOnNetwork: () => false };

/** Creates a list of the costs in memory, because it is needed for every message; `reload` it after each change. */
export function createCostList(db: Db): Costs & { reload(): Promise<void> } {
  let table: PrefixTable<number> = prefixTable([]);
  let byNetwork: PrefixTable<true> = prefixTable([]);
  let priced: ReadonlySet<number> = new Set();
  return {
    find(connectionId, destination, network = null) {
      if (!priced.has(connectionId)) return null;
      const number = numberForPrefix(destination);
      const ofNetwork = network === null ? undefined : table.find(groupOf(connectionId, network), number);
      return ofNetwork ?? table.find(groupOf(connectionId, null), number) ?? null;
    },
    isPriced: (connectionId) => priced.has(connectionId),
    dependsOnNetwork: (connectionId, destination) => byNetwork.find(`${connectionId}`, destination) === true,
    async reload() {
      const costs = await listCosts(db);
      priced = new Set(costs.map(({ connectionId }) => connectionId));
      table = prefixTable(
        costs.map(({ connectionId, network, prefix, unitMicros }) => ({
          group: groupOf(connectionId, network),
          prefix,
          value: unitMicros,
        })),
      );
      byNetwork = prefixTable(costs.flatMap(numbersInNetwork));
    },
  };
}

/**
 * Returns the numbers for which a cost of a network can count: a list by network alone is for the countries of its
 * networks.
 */
const numbersInNetwork = ({ connectionId, network, prefix }: Cost) =>
  network === null
    ? []
    : prefixesIn(network, prefix).map((own) => ({ group: `${connectionId}`, prefix: own, value: true as const }));

const groupOf = (connectionId: number, network: string | null): string => `${connectionId}/${network ?? ''}`;

/** A line of a carrier's price list: the charge for a prefix, in one network or in any. */
type ListedCost = {
  readonly prefix: string;
  readonly network: string | null;
  readonly unitMicros: number;
};

/** The names that carriers give to the columns, in lower case and without blanks and signs. */
const COLUMNS = {
  prefix: ['prefix', 'dialcode', 'dialingcode', 'code', 'countrycode', 'callingcode'],
  network: ['network', 'mccmnc', 'plmn'],
  mcc: ['mcc'],
  mnc: ['mnc'],
  price: ['price', 'rate', 'cost', 'unitprice'],
} as const;

type Column = keyof typeof COLUMNS;
type Places = Partial<Record<Column, number>>;
type Row = { readonly line: number; readonly cells: readonly string[] };

/** Maximum errors listed: more would be unreadable. */
const MAX_ERRORS = 20;

/**
 * Reads the price list of a carrier, a CSV file with headings: `prefix` and/or `network` (also as `mcc` and `mnc`), and
 * `price`; other columns are ignored. Comma, semicolon, tab and bar separate cells; a decimal comma is understood
 * unless commas separate cells. Either all lines are taken or none. Errors: 400 that names each invalid line as `line
 * 3` with its error.
 */
export function readCostFile(csv: string): ListedCost[] {
  const [header, ...rows] = rowsOf(csv);
  if (header === undefined) throw invalidFields([{ field: 'line 1', message: 'the file is empty' }]);
  const places = placesOf(header);
  const errors: FieldError[] = [];
  const costs = rows.flatMap((row) => {
    const cost = readRow(row, places);
    if (typeof cost !== 'string') return [cost];
    errors.push({ field: `line ${row.line}`, message: cost });
    return [];
  });
  errors.push(...(errors.length === 0 ? repetitions(rows, costs) : []));
  if (costs.length === 0 && errors.length === 0)
    errors.push({ field: `line ${header.line}`, message: 'no prices follow' });
  if (errors.length > 0) throw invalidFields(errors.slice(0, MAX_ERRORS));
  return costs;
}

function rowsOf(csv: string): Row[] {
  try {
    const rows = parse(csv, {
      bom: true,
      delimiter: detectDelimiter(csv),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    });
    // The parser's types do not follow its option `info`.
    return (rows as unknown as { info: { lines: number }; record: string[] }[]).map(({ info, record }) => ({
      line: info.lines,
      cells: record,
    }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error;
    throw invalidFields([{ field: `line ${typeof lines === 'number' ? lines : 1}`, message: 'cannot be read as CSV' }]);
  }
}

function placesOf({ line, cells }: Row): Places {
  const names = cells.map((cell) => cell.toLowerCase().replaceAll(/[^a-z]/g, ''));
  const places: Places = {};
  for (const [column, known] of Object.entries(COLUMNS) as [Column, readonly string[]][]) {
    const at = names.findIndex((name) => known.includes(name));
    if (at >= 0) places[column] = at;
  }
  const missing = missingIn(places);
  if (missing !== undefined) throw invalidFields([{ field: `line ${line}`, message: missing }]);
  return places;
}

function missingIn({ prefix, network, mcc, mnc, price }: Places): string | undefined {
  if (price === undefined) return 'has no column "price"';
  if (mcc !== undefined && mnc === undefined) return 'has a column "mcc" but no "mnc"';
  if (prefix === undefined && network === undefined && mcc === undefined)
    return 'has neither a column "prefix" nor "network" nor "mcc" and "mnc"';
  return undefined;
}

/** Reads a line; returns a text that names its error. */
function readRow({ cells }: Row, places: Places): ListedCost | string {
  const cellOf = (column: Column): string => cells[places[column] ?? -1] ?? '';
  const prefix = cellOf('prefix').replace(/^\+|^00/, '');
  if (!/^\d{0,15}$/.test(prefix)) return 'prefix: must be up to 15 digits';
  const mnc = cellOf('mnc');
  // Spreadsheets drop leading zeros, and 1 may have been 01 or 001.
  if (mnc !== '' && !/^\d{2,3}$/.test(mnc)) return 'mnc: must be 2 or 3 digits';
  const network = (cellOf('network') || `${cellOf('mcc')}${mnc}`).replaceAll(/[\s/-]/g, '');
  if (network !== '' && !/^\d{5,6}$/.test(network)) return 'network: must be MCC and MNC: 5 or 6 digits, such as 22201';
  if (prefix === '' && network === '') return 'has neither a prefix nor a network';
  const unitMicros = readPrice(cellOf('price'));
  if (unitMicros === null) return 'price: must be an amount from 0 with at most 6 decimals';
  return { prefix, network: network === '' ? null : network, unitMicros };
}

function readPrice(cell: string): number | null {
  const text = cell.replace(',', '.');
  const micros = /^\d+(\.\d+)?$/.test(text) ? toMicros(Number(text)) : null;
  return micros !== null && micros >= 0 ? micros : null;
}

function repetitions(rows: readonly Row[], costs: readonly ListedCost[]): FieldError[] {
  const seen = new Map<string, number>();
  return costs.flatMap(({ prefix, network }, n) => {
    const line = rows[n]?.line ?? 0;
    const key = `${prefix}/${network}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, line);
    return first === undefined ? [] : [{ field: `line ${line}`, message: `repeats line ${first}` }];
  });
}

const COST = columns({
  id: as<number>('k.id'),
  connectionId: as<number>('k.connection_id'),
  connection: as<string>('c.name'),
  /** Leading digits without the plus; empty for all numbers. */
  prefix: as<string>('k.prefix'),
  /** MCC and MNC; null for any network. */
  network: as<string | null>('k.network'),
  /** Per part on SMS, per message elsewhere, in millionths of the currency. */
  unitMicros: as<number>('k.unit_micros'),
});
type Cost = RowOf<typeof COST>;

/** Scope of a cost: a prefix of numbers at a connection, in one network or in any. */
type CostPlace = Pick<Cost, 'connectionId' | 'prefix' | 'network'>;

/** Lists all costs, by connection, prefix and network. */
export async function listCosts(db: Db): Promise<Cost[]> {
  return many(
    db,
    sql`SELECT ${COST} FROM connection_cost k JOIN connection c ON c.id = k.connection_id
        ORDER BY c.name, k.prefix, k.network NULLS FIRST`,
  );
}

/** Inserts costs, or changes those that exist at the same place. No place may occur twice. */
export async function insertCosts(
  db: Db,
  { costs }: { costs: readonly (CostPlace & Pick<Cost, 'unitMicros'>)[] },
): Promise<void> {
  await exec(
    db,
    sql`${insertRows('connection_cost', costs, { connectionId: bigint, prefix: text, network: text, unitMicros: bigint })}
        ON CONFLICT (connection_id, prefix, network) DO UPDATE SET unit_micros = excluded.unit_micros`,
  );
}

/** Deletes the cost of a place; returns 0 when there is none. */
async function deleteCost(db: Db, { connectionId, prefix, network }: CostPlace): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM connection_cost
        WHERE connection_id = ${connectionId} AND prefix = ${prefix} AND network IS NOT DISTINCT FROM ${network}`,
  );
}

/** Deletes all costs of a connection; returns their number. */
async function deleteCostsOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM connection_cost WHERE connection_id = ${connectionId}`);
}
