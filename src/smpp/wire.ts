// The field types of SMPP (3.4, 3.1): integers, C-octet strings, counted octets.

/**
 * A position in received octets. Reading never throws: `fault` keeps the first error, and later reads return empty
 * values. `ignored` counts the octets that belong to no field.
 */
export type ReadCursor = { readonly bytes: Buffer; offset: number; fault: string | null; ignored: number };
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
function fail(cursor: ReadCursor, reason: string): void {
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

/**
 * Reads a C-octet string up to its NUL as Latin-1; values longer than the field allows are accepted. Without a NUL it
 * returns the remaining octets and records an error.
 */
export function readCString(cursor: ReadCursor, name: string): string {
  const { bytes, offset: start } = cursor;
  let end = start;
  while (end < bytes.length && bytes[end] !== 0) end += 1;
  if (end === bytes.length) {
    fail(cursor, `${name} is not terminated`);
    return bytes.toString('latin1', start);
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
function readOctets(cursor: ReadCursor, name: string, length: number): Uint8Array {
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
function writeOctets(cursor: WriteCursor, value: Uint8Array): void {
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

/** Optional parameters by tag. Unknown tags are kept; of repeated tags only the first is kept. */
export type Tlvs = ReadonlyMap<number, Uint8Array>;

/** The tags of the optional parameters that the gateway or the sandbox uses (SMPP 3.4, 5.3). */
export const TAG = {
  payload_type: 0x0019,
  additional_status_info_text: 0x001d,
  receipted_message_id: 0x001e,
  user_message_reference: 0x0204,
  source_port: 0x020a,
  destination_port: 0x020b,
  sar_msg_ref_num: 0x020c,
  sar_total_segments: 0x020e,
  sar_segment_seqnum: 0x020f,
  sc_interface_version: 0x0210,
  network_error_code: 0x0423,
  message_payload: 0x0424,
  delivery_failure_reason: 0x0425,
  more_messages_to_send: 0x0426,
  message_state: 0x0427,
  congestion_state: 0x0428,
} as const;

/** The parameters of every PDU that has none. */
export const NO_TLVS: Tlvs = new Map<number, Uint8Array>();

const HEAD_OCTETS = 4;
const MAX_VALUE_OCTETS = 0xffff;

function sizeOfTlvs(name: string, tlvs: Tlvs): number {
  let size = 0;
  for (const [tag, value] of tlvs) {
    if (!Number.isInteger(tag) || tag < 0 || tag > 0xffff) throw new RangeError(`${name}: tag ${tag} is not 16 bits`);
    if (value.length > MAX_VALUE_OCTETS)
      throw new RangeError(`${name}: tag ${tag} is longer than ${MAX_VALUE_OCTETS} octets`);
    size += HEAD_OCTETS + value.length;
  }
  return size;
}

function writeTlvs(cursor: WriteCursor, tlvs: Tlvs): void {
  for (const [tag, value] of tlvs) {
    cursor.bytes.writeUInt16BE(tag, cursor.offset);
    cursor.bytes.writeUInt16BE(value.length, cursor.offset + 2);
    cursor.offset += HEAD_OCTETS;
    writeOctets(cursor, value);
  }
}

/** No parameter has a lower tag (SMPP 3.4, 5.3.2): a lower one is a stray NUL of the peer before the next parameter. */
const FIRST_TAG = 0x0005;

/**
 * Reads parameters up to the end of what is whole: some peers write a NUL too many or cut the last parameter short, and
 * repeat a message that is rejected for that for days. Only a text that is cut short is an error.
 */
function readTlvs(cursor: ReadCursor, name: string): Tlvs {
  const { bytes } = cursor;
  if (cursor.offset === bytes.length) return NO_TLVS;
  const tlvs = new Map<number, Uint8Array>();
  while (bytes.length - cursor.offset >= HEAD_OCTETS) {
    const tag = bytes.readUInt16BE(cursor.offset);
    if (tag < FIRST_TAG) {
      cursor.offset += 1;
      cursor.ignored += 1;
      continue;
    }
    const start = cursor.offset + HEAD_OCTETS;
    const end = start + bytes.readUInt16BE(cursor.offset + 2);
    if (end > bytes.length) {
      if (tag === TAG.message_payload) fail(cursor, `${name}: message_payload is longer than the PDU`);
      break;
    }
    if (!tlvs.has(tag)) tlvs.set(tag, bytes.subarray(start, end));
    cursor.offset = end;
  }
  cursor.ignored += bytes.length - cursor.offset;
  cursor.offset = bytes.length;
  return tlvs;
}

/** All optional parameters up to the end of the PDU, so always the last field of a layout. */
export const tlvField: Field<Tlvs> = { size: sizeOfTlvs, write: writeTlvs, read: readTlvs };

/** Encodes parameters as in a PDU. */
export function encodeTlvs(tlvs: Tlvs): Buffer {
  const bytes = Buffer.alloc(sizeOfTlvs('tlvs', tlvs));
  writeTlvs({ bytes, offset: 0 }, tlvs);
  return bytes;
}

/** Decodes the output of `encodeTlvs`. */
export const decodeTlvs = (octets: Uint8Array): Tlvs =>
  readTlvs({ bytes: Buffer.from(octets), offset: 0, fault: null, ignored: 0 }, 'tlvs');

/** Encodes a parameter value of one octet. */
export function uint8(value: number): Uint8Array {
  return Uint8Array.of(value);
}

/** Encodes a big-endian parameter value of two octets. */
export function uint16(value: number): Uint8Array {
  return Uint8Array.of(value >> 8, value);
}

/** Encodes a C-octet string value: Latin-1 with a trailing NUL. */
export function cStringValue(value: string): Uint8Array {
  return Buffer.from(`${value}\0`, 'latin1');
}

/** Reads the big-endian integer in a parameter; null if it is missing or its length is not `octets`. */
export function readUint(tlvs: Tlvs, tag: number, octets: 1 | 2 | 4): number | null {
  const value = tlvs.get(tag);
  if (value?.length !== octets) return null;
  let sum = 0;
  for (const octet of value) sum = sum * 256 + octet;
  return sum;
}

/** Reads the string in a parameter up to its NUL, which some peers omit; null if the parameter is missing. */
export function readText(tlvs: Tlvs, tag: number): string | null {
  const value = tlvs.get(tag);
  if (!value) return null;
  const end = value.indexOf(0);
  return latin1(value, end < 0 ? value.length : end);
}

const STATE_VALUES = Array.from({ length: 10 }, (_, state) => uint8(state));
/** The network type GSM in network_error_code. */
const GSM = 3;

/**
 * Builds the optional parameters of a receipt (SMPP 3.4, appendix B): the id, message_state and, unless it is 0,
 * the error as a code of a GSM network.
 */
export function receiptTlvs({ id, state, error }: { id: string; state: number; error: number }): Tlvs {
  const tlvs = new Map<number, Uint8Array>([
    [TAG.receipted_message_id, cStringValue(id)],
    [TAG.message_state, STATE_VALUES[state] ?? uint8(state)],
  ]);
  if (error > 0) tlvs.set(TAG.network_error_code, Uint8Array.of(GSM, error >> 8, error));
  return tlvs;
}
