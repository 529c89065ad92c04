import { CsvError, parse } from 'csv-parse/sync';
import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { detectDelimiter } from '../../platform/lib/csv-delimiter.ts';
import { toMicros } from '../../platform/lib/money.ts';

/** A line of a carrier's price list: the charge for a prefix, in one network or in any. */
export type ListedCost = {
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
