// The field types of SMPP (3.4, 3.1): integers, C-octet strings, counted octets.

/**
 * A position in received octets. Reading never throws: `fault` keeps the first error, and later reads return empty
 * values.
 */
export type ReadCursor = { readonly bytes: Buffer; offset: number; fault: string | null };
/** A position in the octets of a PDU that is being written. */
export type WriteCursor = { readonly bytes: Buffer; offset: number };

/** Size (with validation), encoding and decoding of one field. `name` is for error messages. */
export type Field<T> = {
  /** Returns the octets that the field takes. Throws a RangeError naming the field if the value does not fit. */
  size(name: string, value: T): number;
  write(cursor: WriteCursor, value: T): void;
  read(cursor: ReadCursor, name: string): T;
};

/** The fields of a body in wire order, which the keys of an object literal preserve. */
export type Layout<Body> = { readonly [Key in keyof Body]-?: Field<Body[Key]> };

const EMPTY = new Uint8Array(0);

/** Records an error unless there is one already, and skips the remaining octets. */
export function fail(cursor: ReadCursor, reason: string): void {
  cursor.fault ??= reason;
  cursor.offset = cursor.bytes.length;
}

/** Reads one octet; 0 and an error if there is none. */
export function readByte(cursor: ReadCursor, name: string): number {
  const value = cursor.bytes[cursor.offset];
  if (value === undefined) {
    fail(cursor, `${name} is missing`);
    return 0;
  }
  cursor.offset += 1;
  return value;
}

/** Reads a C-octet string up to its NUL as Latin-1; values longer than the field allows are accepted. */
export function readCString(cursor: ReadCursor, name: string): string {
  const { bytes, offset: start } = cursor;
  let end = start;
  while (end < bytes.length && bytes[end] !== 0) end += 1;
  if (end === bytes.length) {
    fail(cursor, `${name} is not terminated`);
    return '';
  }
  cursor.offset = end + 1;
  return end === start ? '' : bytes.toString('latin1', start, end);
}

/**
 * Decodes the octets before `end` as Latin-1. Octets of a frame are views of a Buffer already and are read without a
 * copy.
 */
export function latin1(octets: Uint8Array, end = octets.length): string {
  const bytes = Buffer.isBuffer(octets) ? octets : Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  return bytes.toString('latin1', 0, end);
}

/** Returns a view of the next `length` octets; an empty one and an error if there are fewer. */
export function readOctets(cursor: ReadCursor, name: string, length: number): Uint8Array {
  const end = cursor.offset + length;
  if (end > cursor.bytes.length) {
    fail(cursor, `${name} is longer than the PDU`);
    return EMPTY;
  }
  const octets = length === 0 ? EMPTY : cursor.bytes.subarray(cursor.offset, end);
  cursor.offset = end;
  return octets;
}

/**
 * Returns the octets of a value with its NUL. Throws a RangeError if it is too long, or has a NUL or a character above
 * 0xFF.
 */
export function cStringSize(name: string, value: string, max: number): number {
  const size = value.length + 1;
  if (size > max) throw new RangeError(`${name} takes at most ${max - 1} characters, not ${value.length}`);
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code === 0 || code > 0xff) throw new RangeError(`${name} contains a character that SMPP cannot carry`);
  }
  return size;
}

/** Writes a C-octet string. Most have at most 21 octets, so a loop is faster than a call into the runtime. */
export function writeCString(cursor: WriteCursor, value: string): void {
  const { bytes, offset } = cursor;
  for (let index = 0; index < value.length; index += 1) bytes[offset + index] = value.charCodeAt(index);
  bytes[offset + value.length] = 0;
  cursor.offset = offset + value.length + 1;
}

/** Writes octets as they are. */
export function writeOctets(cursor: WriteCursor, value: Uint8Array): void {
  cursor.bytes.set(value, cursor.offset);
  cursor.offset += value.length;
}

/** A C-octet string field; `max` includes the NUL, as in the protocol's tables. */
export function cString(max: number): Field<string> {
  return { size: (name, value) => cStringSize(name, value, max), write: writeCString, read: readCString };
}

/** An integer of one octet. */
export const byte: Field<number> = {
  size(name, value) {
    if (!Number.isInteger(value) || value < 0 || value > 0xff) throw new RangeError(`${name} must be 0 to 255`);
    return 1;
  },
  write(cursor, value) {
    cursor.bytes[cursor.offset] = value;
    cursor.offset += 1;
  },
  read: readByte,
};

/** A length octet, then the octets: sm_length and short_message, at most 254. */
export const shortOctets: Field<Uint8Array> = {
  size(name, value) {
    if (value.length > 254) throw new RangeError(`${name} takes at most 254 octets, not ${value.length}`);
    return 1 + value.length;
  },
  write(cursor, value) {
    byte.write(cursor, value.length);
    writeOctets(cursor, value);
  },
  read: (cursor, name) => readOctets(cursor, name, readByte(cursor, name)),
};

/** Returns the size of a body in octets. Throws a RangeError naming the first field whose value does not fit. */
export function layoutSize<Body>(layout: Layout<Body>, body: Body): number {
  let size = 0;
  for (const key in layout) size += layout[key].size(key, body[key]);
  return size;
}

/** Writes a body field by field. */
export function writeLayout<Body>(cursor: WriteCursor, layout: Layout<Body>, body: Body): void {
  for (const key in layout) layout[key].write(cursor, body[key]);
}

/** Reads a body field by field; errors are recorded in the cursor. */
export function readLayout<Body>(cursor: ReadCursor, layout: Layout<Body>): Body {
  const body: Partial<Body> = {};
  for (const key in layout) body[key] = layout[key].read(cursor, key);
  // The loop has set every key of Body: Layout has no optional ones.
  return body as Body;
}
