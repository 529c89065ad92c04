/**
 * The field types of SMPP (protocol sheet smpp, section 2): integers, C-octet strings, counted octets.
 * Reading never throws: the first fault is kept in the cursor, and later reads give empty values.
 */
export type ReadCursor = { readonly bytes: Buffer; offset: number; fault: string | null };
export type WriteCursor = { readonly bytes: Buffer; offset: number };

/** How one field is measured (and checked), written and read. `name` is for the message of a fault. */
export type Field<T> = {
  /** Octets that the field takes. Throws RangeError naming the field when the value does not fit it. */
  size(name: string, value: T): number;
  write(cursor: WriteCursor, value: T): void;
  read(cursor: ReadCursor, name: string): T;
};

/** Field by field in the order of the wire; the keys of an object literal keep that order. */
export type Layout<Body> = { readonly [Key in keyof Body]-?: Field<Body[Key]> };

const EMPTY = new Uint8Array(0);

export function fail(cursor: ReadCursor, reason: string): void {
  cursor.fault ??= reason;
  cursor.offset = cursor.bytes.length;
}

export function readByte(cursor: ReadCursor, name: string): number {
  const value = cursor.bytes[cursor.offset];
  if (value === undefined) {
    fail(cursor, `${name} is missing`);
    return 0;
  }
  cursor.offset += 1;
  return value;
}

/** Up to its NUL, as latin1; longer values than the field allows are taken as they are. */
export function readCString(cursor: ReadCursor, name: string): string {
  const { bytes, offset: start } = cursor;
  let end = start;
  while (end < bytes.length && bytes[end] !== 0) end += 1;
  if (end === bytes.length) {
    fail(cursor, `${name} has no end`);
    return '';
  }
  cursor.offset = end + 1;
  return end === start ? '' : bytes.toString('latin1', start, end);
}

/** The octets before `end` as text. Octets of a frame are views of a Buffer already, and are read without a copy. */
export function latin1(octets: Uint8Array, end = octets.length): string {
  const bytes = Buffer.isBuffer(octets) ? octets : Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  return bytes.toString('latin1', 0, end);
}

/** A view of the next `length` octets. */
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

/** Octets of the value with its NUL. A NUL or a character above 0xFF inside would shift every later field. */
export function cStringSize(name: string, value: string, max: number): number {
  const size = value.length + 1;
  if (size > max) throw new RangeError(`${name} takes at most ${max - 1} characters, not ${value.length}`);
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code === 0 || code > 0xff) throw new RangeError(`${name} holds a character that SMPP cannot carry`);
  }
  return size;
}

/** These strings are short (21 octets at most, mostly): a loop is faster than a call into the runtime. */
export function writeCString(cursor: WriteCursor, value: string): void {
  const { bytes, offset } = cursor;
  for (let index = 0; index < value.length; index += 1) bytes[offset + index] = value.charCodeAt(index);
  bytes[offset + value.length] = 0;
  cursor.offset = offset + value.length + 1;
}

export function writeOctets(cursor: WriteCursor, value: Uint8Array): void {
  cursor.bytes.set(value, cursor.offset);
  cursor.offset += value.length;
}

/** `max` counts the NUL, as the protocol's tables do. */
export function cString(max: number): Field<string> {
  return { size: (name, value) => cStringSize(name, value, max), write: writeCString, read: readCString };
}

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

/** One octet of length, then the octets: `sm_length` and `short_message`, at most 254. */
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

export function layoutSize<Body>(layout: Layout<Body>, body: Body): number {
  let size = 0;
  for (const key in layout) size += layout[key].size(key, body[key]);
  return size;
}

export function writeLayout<Body>(cursor: WriteCursor, layout: Layout<Body>, body: Body): void {
  for (const key in layout) layout[key].write(cursor, body[key]);
}

export function readLayout<Body>(cursor: ReadCursor, layout: Layout<Body>): Body {
  const body: Partial<Body> = {};
  for (const key in layout) body[key] = layout[key].read(cursor, key);
  // The loop has set every key of Body: Layout has no optional ones.
  return body as Body;
}
