import { type Field, fail, latin1, type ReadCursor, readOctets, type WriteCursor, writeOctets } from './wire.ts';

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

function readTlvs(cursor: ReadCursor, name: string): Tlvs {
  if (cursor.offset === cursor.bytes.length) return NO_TLVS;
  const tlvs = new Map<number, Uint8Array>();
  while (cursor.offset < cursor.bytes.length) {
    if (cursor.bytes.length - cursor.offset < HEAD_OCTETS) {
      fail(cursor, `${name}: incomplete parameter`);
      break;
    }
    const tag = cursor.bytes.readUInt16BE(cursor.offset);
    const length = cursor.bytes.readUInt16BE(cursor.offset + 2);
    cursor.offset += HEAD_OCTETS;
    const value = readOctets(cursor, name, length);
    if (!tlvs.has(tag)) tlvs.set(tag, value);
  }
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
  readTlvs({ bytes: Buffer.from(octets), offset: 0, fault: null }, 'tlvs');

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
