import { join, raw, type Sql, sql } from './query.ts';

/**
 * The rows of a batch as an SQL table: `FROM ${rowsOf(rows, { id: uuid((r) => r.id), … })} AS u`.
 *
 * A column in which every row has the same value (the account, the sender, the text of a bulk send) travels as that one
 * value; the others as arrays in PostgreSQL's binary form, which needs no quoting here and no parsing there. With
 * fifteen text arrays the same insert took twice the time on both sides.
 */
export const rowsOf = <R>(rows: readonly R[], columns: Readonly<Record<string, ColumnOf<R>>>): Sql =>
  tableOf(Object.entries(columns).map(([name, make]) => [name, make(rows)] as const));

type NamedColumn = readonly [name: string, column: ColumnValues];

function tableOf(named: readonly NamedColumn[]): Sql {
  const varying = named.filter(([, column]) => !column.same);
  const arrays = varying.length > 0 ? varying : named.slice(0, 1);
  const inArrays = new Set(arrays.map(([name]) => name));
  const items = named.map(([name, { one }]) => (inArrays.has(name) ? raw(`c.${name}`) : sql`${one} AS ${raw(name)}`));
  return sql`(SELECT ${join(items)} FROM unnest(${join(arrays.map(([, { array }]) => array()))}) AS c (${raw(
    arrays.map(([name]) => name).join(', '),
  )}))`;
}

/** The type that a column needs for the values of a field. */
type TypeFor<V> = ColumnType<NonNullable<V>>;

/**
 * What becomes of each field of a row: its column has the name of the field in snake case. A type stores the field as it
 * is, `type(read)` stores what the function reads, `input(type)` only offers it to expressions, `null` leaves it out.
 */
export type RowColumns<R> = { readonly [K in keyof R]-?: TypeFor<R[K]> | ColumnOf<R> | Input | null };

type Entry<R> = ColumnType<never> | ColumnOf<R> | Input | null;

type Input = { readonly input: ColumnType<never> };

/** Offers a field to the expressions of an insert (as `u.name`) without storing it. */
export const input = (type: ColumnType<never>): Input => ({ input: type });

/**
 * `INSERT INTO table (…) SELECT …` of a batch; what follows it (`ON CONFLICT`, `RETURNING`) stands behind it in the
 * template. The list of columns is made of the keys of the row, so a field that is added to the row does not compile until
 * it is stored here. `expressions` are further columns, by their SQL names, over the row `u`.
 */
export function insertRows<R>(
  table: string,
  rows: readonly R[],
  fields: RowColumns<R>,
  expressions: Readonly<Record<string, Sql>> = {},
): Sql {
  const named: NamedColumn[] = [];
  const stored: string[] = [];
  for (const [key, entry] of Object.entries(fields) as [string, Entry<R>][]) {
    if (entry === null) continue;
    const name = snakeCase(key);
    if (!('input' in entry)) stored.push(name);
    named.push([name, valuesOf(rows, key, 'input' in entry ? entry.input : entry)]);
  }
  const computed = Object.entries(expressions);
  const into = raw([...stored, ...computed.map(([name]) => name)].join(', '));
  if (computed.length === 0 && stored.length === named.length)
    return sql`INSERT INTO ${raw(table)} (${into}) ${tableOf(named)}`;
  const items = [...stored.map((name) => raw(`u.${name}`)), ...computed.map(([, expression]) => expression)];
  return sql`INSERT INTO ${raw(table)} (${into}) SELECT ${join(items)} FROM ${tableOf(named)} AS u`;
}

const valuesOf = <R>(rows: readonly R[], key: string, entry: ColumnType<never> | ColumnOf<R>): ColumnValues =>
  'field' in entry ? entry.field(rows, key) : entry(rows);

const snakeNames = new Map<string, string>();

function snakeCase(key: string): string {
  const known = snakeNames.get(key);
  if (known !== undefined) return known;
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeNames.set(key, name);
  return name;
}

/** One column of a batch. */
type ColumnValues = {
  /** Whether all rows have the value `one`. */
  readonly same: boolean;
  readonly one: Sql;
  array(): Sql;
};

/** Makes a column of a batch from its rows. */
export type ColumnOf<R> = (rows: readonly R[]) => ColumnValues;

/** A type of column: called with a function, it makes a column of what that reads from each row. */
export type ColumnType<T> = {
  <R>(read: (row: R, index: number) => T | null): ColumnOf<R>;
  /** The column of the field `key`: what `insertRows` uses. */
  readonly field: (rows: readonly unknown[], key: string) => ColumnValues;
};

type Kind<T> = {
  readonly type: string;
  /** The type's OID in pg_type, the same in every PostgreSQL. */
  readonly oid: number;
  /** Octets that a value takes, or a bound that it does not pass. */
  sizeOf(value: T): number;
  /** Answers where the value ends. */
  write(out: Buffer, value: T, at: number): number;
};

type Scalar = string | number | boolean | Date | Uint8Array;

const column = <T extends Scalar>(kind: Kind<T>): ColumnType<T> =>
  Object.assign(
    <R>(read: (row: R, index: number) => T | null): ColumnOf<R> =>
      (rows) =>
        columnOf(kind, rows, read),
    {
      field: (rows: readonly unknown[], key: string): ColumnValues =>
        columnOf(kind, rows as readonly Readonly<Record<string, T | null>>[], (row) => row[key] ?? null),
    },
  );

function columnOf<R, T extends Scalar>(
  kind: Kind<T>,
  rows: readonly R[],
  read: (row: R, index: number) => T | null,
): ColumnValues {
  const first = rows.length === 0 ? null : read(rows[0] as R, 0);
  const values = valuesFrom(first, rows, read);
  return {
    same: values === null,
    one: sql`${first}${raw(`::${kind.type}`)}`,
    array: () => sql`${arrayOf(kind, values ?? rows.map(() => first))}${raw(`::${kind.type}[]`)}`,
  };
}

/**
 * Null when all are as the first. A plain loop, as below; nothing is collected before the first that differs: of the two
 * dozen columns of a message four do, and the values of the others were a tenth of all garbage.
 */
function valuesFrom<R, T>(
  first: T | null,
  rows: readonly R[],
  read: (row: R, index: number) => T | null,
): (T | null)[] | null {
  let values: (T | null)[] | null = null;
  for (let i = 1; i < rows.length; i++) {
    const value = read(rows[i] as R, i);
    if (values === null && !isSame(value, first)) values = rows.map(() => first);
    if (values !== null) values[i] = value;
  }
  return values;
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime());

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

/**
 * An array in the binary form: dimensions, null flag, element OID, length, lower bound; then each length and value.
 * Every message passes here some twenty times, hence plain loops and one buffer.
 */
function arrayOf<T>(kind: Kind<T>, values: readonly (T | null)[]): Buffer {
  let bytes = HEADER_BYTES + LENGTH_BYTES * values.length;
  for (const value of values) if (value !== null) bytes += kind.sizeOf(value);
  const out = Buffer.allocUnsafe(bytes);
  let nulls = 0;
  let at = HEADER_BYTES;
  for (const value of values) {
    const start = at + LENGTH_BYTES;
    if (value === null) nulls = 1;
    at = value === null ? start : kind.write(out, value, start);
    out.writeInt32BE(value === null ? NULL_LENGTH : at - start, start - LENGTH_BYTES);
  }
  out.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  out.writeInt32BE(nulls, 4);
  out.writeInt32BE(kind.oid, 8);
  out.writeInt32BE(values.length, 12);
  out.writeInt32BE(1, 16);
  return out.subarray(0, values.length === 0 ? 12 : at);
}

function writeInt64(out: Buffer, value: number, at: number): number {
  const high = Math.floor(value / 2 ** 32);
  out.writeInt32BE(high, at);
  return out.writeUInt32BE(value - high * 2 ** 32, at + 4);
}

/** Where the 16 octets of a UUID stand in its text. */
const UUID_OCTETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const HEX_VALUE = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);
const hexAt = (text: string, at: number): number => HEX_VALUE[text.charCodeAt(at) & 127] ?? 0;

/** Twice as fast as taking the dashes out and letting Buffer read the hex; ids are written five times a message. */
function writeUuid(out: Buffer, uuid: string, at: number): number {
  for (let i = 0; i < 16; i++) {
    const from = UUID_OCTETS[i] ?? 0;
    out[at + i] = (hexAt(uuid, from) << 4) | hexAt(uuid, from + 1);
  }
  return at + 16;
}

/** Up to here (numbers, ids, senders) a loop over the characters is twice as fast as a call into the runtime. */
const SHORT_TEXT = 40;
const UTF8_MOST_BYTES = 3;

function writeText(out: Buffer, value: string, at: number): number {
  if (value.length > SHORT_TEXT) return at + out.write(value, at);
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code > 0x7f) return at + out.write(value, at);
    out[at + i] = code;
  }
  return at + value.length;
}

const textKind = (type: string, oid: number): Kind<string> => ({
  type,
  oid,
  sizeOf: (value) => (value.length > SHORT_TEXT ? Buffer.byteLength(value) : value.length * UTF8_MOST_BYTES),
  write: writeText,
});

export const bigint = column<number>({ type: 'bigint', oid: 20, sizeOf: () => 8, write: writeInt64 });
export const int = column<number>({
  type: 'int',
  oid: 23,
  sizeOf: () => 4,
  write: (out, value, at) => out.writeInt32BE(value, at),
});
export const smallint = column<number>({
  type: 'smallint',
  oid: 21,
  sizeOf: () => 2,
  write: (out, value, at) => out.writeInt16BE(value, at),
});
export const boolean = column<boolean>({
  type: 'boolean',
  oid: 16,
  sizeOf: () => 1,
  write: (out, value, at) => out.writeUInt8(value ? 1 : 0, at),
});
const uuidKind: Kind<string> = {
  type: 'uuid',
  oid: 2950,
  sizeOf: () => 16,
  write: writeUuid,
};
export const uuid = column<string>(uuidKind);

/**
 * Lists of ids as one uuid[], one behind the other: each row takes its slice, `(…)[last - size + 1:last]`, where `endsOf`
 * says `last`. A thousand ids in the form of text take PostgreSQL a millisecond to read.
 */
export const uuids = (lists: readonly (readonly string[])[]): Sql => sql`${arrayOf(uuidKind, lists.flat())}::uuid[]`;

/** Where each list ends, counted from 1. */
export function endsOf(lists: readonly (readonly unknown[])[]): number[] {
  let end = 0;
  return lists.map((list) => (end += list.length));
}

export const text = column<string>(textKind('text', 25));
export const json = column<string>(textKind('json', 114));
export const bytea = column<Uint8Array>({
  type: 'bytea',
  oid: 17,
  sizeOf: (value) => value.length,
  write(out, value, at) {
    out.set(value, at);
    return at + value.length;
  },
});

/** PostgreSQL counts microseconds from 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
/** Instants, exact to the millisecond. */
export const timestamptz = column<Date>({
  type: 'timestamptz',
  oid: 1184,
  sizeOf: () => 8,
  // As a number it would lose its milliseconds in the year 2285.
  write: (out, date, at) => out.writeBigInt64BE(BigInt(date.getTime() - EPOCH_MS) * 1000n, at),
});
