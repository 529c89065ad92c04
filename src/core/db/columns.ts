import { join, raw, type Sql, sql } from './query.ts';

/**
 * Turns the rows of a batch into an SQL table: `FROM ${rowsOf(rows, { id: uuid((r) => r.id), … })} AS u`.
 *
 * A column in which every row has the same value (the account, the sender, the text of a bulk send) is sent as that one
 * value; the others are sent as arrays in PostgreSQL's binary format, which needs no quoting here and no parsing there.
 * With fifteen text arrays the same insert took twice the time on both sides.
 */
export const rowsOf = <R>(rows: readonly R[], columns: BatchColumns<R>): Sql => tableOf(planOf(columns), rows, false);

/** The columns of `rowsOf`, by their SQL names. */
export type BatchColumns<R> = Readonly<Record<string, ColumnOf<R>>>;

type PlannedColumn = { readonly name: string } & ColumnOf<never>;

/** The columns of a batch, and what was composed of them before. */
type Plan = {
  readonly columns: readonly PlannedColumn[];
  /** The names of those that `insertRows` stores. */
  readonly stored: readonly string[];
  /** The beginnings of inserts, by their table and the names of their expressions. */
  readonly inserts: Map<string, Sql>;
  /** The tables, by a number with a bit for each column that varies. */
  readonly tables: Map<number, Sql>;
};

const plans = new WeakMap<object, Plan>();

/**
 * Returns columns that are declared once and not for each batch, so that the text of their statements is composed once
 * for each set of columns that vary. For hot batches: it takes half the time and a quarter of the garbage.
 */
export function once<F extends object>(columns: F): F {
  plans.set(columns, planOf(columns));
  return columns;
}

function planOf(fields: object): Plan {
  const known = plans.get(fields);
  if (known) return known;
  const columns: PlannedColumn[] = [];
  const stored: string[] = [];
  for (const [key, entry] of Object.entries(fields) as [string, Entry<never>][]) {
    if (entry === null) continue;
    const name = snakeCase(key);
    if (!('input' in entry)) stored.push(name);
    const column = 'input' in entry ? entry.input : entry;
    const { kind, read = (row: Readonly<Record<string, Scalar | null>>) => row[key] ?? null } = column;
    columns.push({ name, kind, read });
  }
  return { columns, stored, inserts: new Map(), tables: new Map() };
}

/** Cap of the texts of a plan. Those of a batch depend on what clients send. */
const MAX_TABLES = 200;

function tableOf(plan: Plan, rows: readonly unknown[], isOfAnyLength: boolean): Sql {
  const values: unknown[] = [];
  const arrays: Buffer[] = [];
  let form = isOfAnyLength ? 1 : 0;
  let bit = 2;
  for (const { kind, read } of plan.columns as readonly ColumnOf<unknown>[]) {
    const first = rows.length === 0 ? null : read(rows[0], 0);
    const varying = valuesFrom(first, rows, read);
    if (varying === null) values.push(first);
    else {
      arrays.push(arrayOf(kind, varying));
      form += bit;
    }
    bit *= 2;
  }
  if (arrays.length === 0) {
    // One of the columns has to tell the number of rows.
    const first = values.shift() as Scalar | null;
    arrays.push(...plan.columns.slice(0, 1).map(({ kind }) => arrayOf(kind, Array(rows.length).fill(first))));
    form += 2;
  }
  for (const array of arrays) values.push(array);
  let table = plan.tables.get(form);
  if (!table) {
    table = composeTable(plan.columns, form);
    if (plan.tables.size < MAX_TABLES) plan.tables.set(form, table);
  }
  return table.with(values);
}

/**
 * An array whose length is hidden from the planner. Where it knows that a batch is small, a plan for just this batch
 * looks cheaper than the one for all, so that it plans an `onePlan` statement again each time: more than half the cost
 * of queueing a single send.
 */
const ofAnyLength = (array: Sql): Sql => sql`(SELECT ${array})`;

function composeTable(columns: readonly PlannedColumn[], form: number): Sql {
  const varies = (i: number): boolean => Math.floor(form / 2 ** (i + 1)) % 2 === 1;
  const items = columns.map(({ name, kind }, i) =>
    varies(i) ? raw(`c.${name}`) : sql`${null}${raw(`::${kind.type} AS ${name}`)}`,
  );
  const varying = columns.filter((_, i) => varies(i));
  const arrays = varying.map(({ kind }) => sql`${null}${raw(`::${kind.type}[]`)}`);
  const names = raw(varying.map(({ name }) => name).join(', '));
  const isOfAnyLength = form % 2 === 1;
  return sql`(SELECT ${join(items)} FROM unnest(${join(isOfAnyLength ? arrays.map(ofAnyLength) : arrays)}) AS c (${names}))`;
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
  const plan = planOf(fields);
  const names = Object.keys(expressions);
  const use = `${table} ${names}`;
  let insert = plan.inserts.get(use);
  if (!insert) {
    const items = plan.stored.map((name) => `u.${name}`);
    insert = raw(`INSERT INTO ${table} (${[...plan.stored, ...names].join(', ')}) SELECT ${items.join(', ')}`);
    plan.inserts.set(use, insert);
  }
  for (const name of names) insert = sql`${insert}, ${expressions[name]}`;
  return sql`${insert} FROM ${tableOf(plan, rows, true)} AS u`;
}

const snakeNames = new Map<string, string>();

export function snakeCase(key: string): string {
  const known = snakeNames.get(key);
  if (known !== undefined) return known;
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeNames.set(key, name);
  return name;
}

/** A column of a batch: its type, and what it reads from each row. */
export type ColumnOf<R> = { readonly kind: Kind<Scalar>; read(row: R, index: number): Scalar | null };

/** A column type. Called with a function, it makes a column of that function's result for each row. */
export type ColumnType<T> = {
  <R>(read: (row: R, index: number) => T | null): ColumnOf<R>;
  readonly kind: Kind<Scalar>;
  /** Absent: as a column itself, it reads the field of its key. */
  readonly read?: never;
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
  Object.assign(<R>(read: (row: R, index: number) => T | null): ColumnOf<R> => ({ kind, read }), { kind });

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
