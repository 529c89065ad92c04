import { join, raw, type Sql, sql } from './query.ts';

/**
 * Turns the rows of a batch into an SQL table: `FROM ${rowsOf(rows, { id: uuid((r) => r.id), … })} AS u`.
 *
 * A column in which every row has the same value (the account, the sender, the text of a bulk send) is sent as that one
 * value; the others are sent as arrays in PostgreSQL's binary format, which needs no quoting here and no parsing there.
 * With fifteen text arrays the same insert took twice the time on both sides.
 */
export const rowsOf = <R>(rows: readonly R[], columns: Readonly<Record<string, ColumnOf<R>>>): Sql =>
  tableOf(
    Object.entries(columns).map(([name, make]) => [name, make(rows)] as const),
    (array) => array,
  );

type NamedColumn = readonly [name: string, column: ColumnValues];

/**
 * Hides the length of an array from the planner. Where it knows that a batch is small, a plan for just this batch looks
 * cheaper than the one for all, so that it plans an `onePlan` statement again each time: more than half the cost of
 * queueing a single send.
 */
const ofAnyLength = (array: Sql): Sql => sql`(SELECT ${array})`;

function tableOf(named: readonly NamedColumn[], asArgument: (array: Sql) => Sql): Sql {
  const varying = named.filter(([, column]) => !column.same);
  const arrays = varying.length > 0 ? varying : named.slice(0, 1);
  const inArrays = new Set(arrays.map(([name]) => name));
  const items = named.map(([name, { one }]) => (inArrays.has(name) ? raw(`c.${name}`) : sql`${one} AS ${raw(name)}`));
  return sql`(SELECT ${join(items)} FROM unnest(${join(arrays.map(([, { array }]) => asArgument(array())))}) AS c (${raw(
    arrays.map(([name]) => name).join(', '),
  )}))`;
}

/** The column type that fits the values of a field. */
type TypeFor<V> = ColumnType<NonNullable<V>>;

/**
 * Handling of each field of a row by `insertRows`. The column has the field's name in snake case. A column type stores
 * the field as it is, `type(read)` stores the result of the function, `input(type)` only makes the field available to
 * expressions, and `null` omits it.
 */
export type RowColumns<R> = { readonly [K in keyof R]-?: TypeFor<R[K]> | ColumnOf<R> | Input | null };

type Entry<R> = ColumnType<never> | ColumnOf<R> | Input | null;

type Input = { readonly input: ColumnType<never> };

/** Makes a field available to the expressions of `insertRows` (as `u.name`) without storing it. */
export const input = (type: ColumnType<never>): Input => ({ input: type });

/**
 * Builds `INSERT INTO table (…) SELECT …` for a batch. `ON CONFLICT` and `RETURNING` follow it in the template. The
 * column list is derived from the keys of the row, so that a field added to the row type does not compile until it is
 * stored (or explicitly omitted) here. `expressions` are further columns, by their SQL names; they read the row as `u`.
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
  const items = [...stored.map((name) => raw(`u.${name}`)), ...computed.map(([, expression]) => expression)];
  return sql`INSERT INTO ${raw(table)} (${into}) SELECT ${join(items)} FROM ${tableOf(named, ofAnyLength)} AS u`;
}

const valuesOf = <R>(rows: readonly R[], key: string, entry: ColumnType<never> | ColumnOf<R>): ColumnValues =>
  'field' in entry ? entry.field(rows, key) : entry(rows);

const snakeNames = new Map<string, string>();

export function snakeCase(key: string): string {
  const known = snakeNames.get(key);
  if (known !== undefined) return known;
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeNames.set(key, name);
  return name;
}

/** The values of one column of a batch. */
type ColumnValues = {
  /** True if all rows have the value `one`. */
  readonly same: boolean;
  readonly one: Sql;
  array(): Sql;
};

/** Returns the values of one column from the rows of a batch. */
export type ColumnOf<R> = (rows: readonly R[]) => ColumnValues;

/** A column type. Called with a function, it makes a column of that function's result for each row. */
export type ColumnType<T> = {
  <R>(read: (row: R, index: number) => T | null): ColumnOf<R>;
  /** Makes the column of the field `key`; used by `insertRows`. */
  readonly field: (rows: readonly unknown[], key: string) => ColumnValues;
};

type Kind<T> = {
  readonly type: string;
  /** The type's OID in pg_type, the same in every PostgreSQL. */
  readonly oid: number;
  /** The number of bytes that a value takes, or an upper bound of it. */
  sizeOf(value: T): number;
  /** Writes the value at `at` and returns the position after it. */
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
 * Returns the values of a column, or null if all of them equal the first. A plain loop, as below. It collects nothing
 * until a value differs: only four of the two dozen columns of a message vary, and the values of the others were a
 * tenth of all garbage.
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
 * Encodes an array in PostgreSQL's binary format: dimensions, null flag, element OID, length, lower bound; then the
 * length and the value of each element. Every message passes here about twenty times, hence plain loops and one buffer.
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

/**
 * Writes 1,000 times a number as an int64, in two halves: as one number the microseconds of an instant would lose their
 * last digits in the year 2285, and as a BigInt they cost 370 bytes of garbage a message. Throws a RangeError for NaN.
 */
function writeInt64Thousandfold(out: Buffer, value: number, at: number): number {
  if (Number.isNaN(value)) throw new RangeError('an invalid date cannot be stored');
  const high = Math.floor(value / 2 ** 32);
  const low = (value - high * 2 ** 32) * 1000;
  const carry = Math.floor(low / 2 ** 32);
  out.writeInt32BE(high * 1000 + carry, at);
  return out.writeUInt32BE(low - carry * 2 ** 32, at + 4);
}

/** The positions of the 16 bytes of a UUID in its text. */
const UUID_OCTETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const HEX_VALUE = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);
const hexAt = (text: string, at: number): number => HEX_VALUE[text.charCodeAt(at) & 127] ?? 0;

/**
 * Twice as fast as removing the hyphens and letting Buffer decode the hex; each message has about five ids to write.
 */
function writeUuid(out: Buffer, uuid: string, at: number): number {
  for (let i = 0; i < 16; i++) {
    const from = UUID_OCTETS[i] ?? 0;
    out[at + i] = (hexAt(uuid, from) << 4) | hexAt(uuid, from + 1);
  }
  return at + 16;
}

/** Up to this length (numbers, ids, senders) a loop over the characters is twice as fast as a call into the runtime. */
const SHORT_TEXT_LENGTH = 40;
const UTF8_MAX_BYTES_PER_UNIT = 3;

function writeText(out: Buffer, value: string, at: number): number {
  if (value.length > SHORT_TEXT_LENGTH) return at + out.write(value, at);
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
  sizeOf: (value) =>
    value.length > SHORT_TEXT_LENGTH ? Buffer.byteLength(value) : value.length * UTF8_MAX_BYTES_PER_UNIT,
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
 * Concatenates lists of ids into one uuid[] parameter. Each row takes its slice of it, `(…)[last - size + 1:last]`,
 * with `last` from `endsOf`. A thousand ids as text would take PostgreSQL a millisecond to parse.
 */
export const uuids = (lists: readonly (readonly string[])[]): Sql => sql`${arrayOf(uuidKind, lists.flat())}::uuid[]`;

/** Returns the position of the last element of each list in their concatenation, counted from 1. */
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

/** PostgreSQL stores instants as microseconds since 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
/** Instants, exact to the millisecond. */
export const timestamptz = column<Date>({
  type: 'timestamptz',
  oid: 1184,
  sizeOf: () => 8,
  write: (out, date, at) => writeInt64Thousandfold(out, date.getTime() - EPOCH_MS, at),
});
