/** Splits the octets of one connection into frames; see `createFrameReader`. */
export type FrameReader = {
  /**
   * Takes the next octets of the stream and returns the frames that they complete, in order. A frame that lies
   * completely in `chunk` is a view of it, not a copy: do not reuse the chunk's memory.
   */
  push(chunk: Uint8Array): Uint8Array[];
  /**
   * Returns the `command_length` that broke the stream (below 16 or above the limit), or null. No frame follows one.
   */
  invalidLength(): number | null;
};

/** Maximum octets of a PDU: a message_payload of 64 KiB and everything around it. */
export const MAX_FRAME = 70_000;

const LENGTH_OCTETS = 4;
const HEADER_OCTETS = 16;

/**
 * Creates a reader that splits a byte stream into PDU frames by their `command_length` (SMPP 3.4, 3.2). It copies each
 * octet at most once, however small the chunks, and holds back at most one frame of `maxLength` octets. The default
 * limit, `MAX_FRAME`, leaves room for a `message_payload` of 64 KiB; the limit is read for each frame, so that it may
 * change.
 */
export function createFrameReader(options: { maxLength?: () => number } = {}): FrameReader {
  const maxLength = options.maxLength ?? (() => MAX_FRAME);
  const lengthField: Uint8Array = Buffer.alloc(LENGTH_OCTETS);
  /** The buffer being filled: the length field, then the frame itself once its length is known. */
  let partial = lengthField;
  let filled = 0;
  let badLength: number | null = null;

  function readLength(bytes: Uint8Array, offset: number): number {
    const length = uint32(bytes, offset);
    if (length < HEADER_OCTETS || length > maxLength()) badLength = length;
    return length;
  }

  function fill(chunk: Uint8Array, offset: number): number {
    const count = Math.min(partial.length - filled, chunk.length - offset);
    partial.set(chunk.subarray(offset, offset + count), filled);
    filled += count;
    return offset + count;
  }

  /** Returns the frame when `partial` holds a complete one. A complete length field allocates its frame instead. */
  function completed(): Uint8Array | null {
    if (filled < partial.length) return null;
    const frame = partial;
    if (frame !== lengthField) {
      partial = lengthField;
      filled = 0;
      return frame;
    }
    const length = readLength(lengthField, 0);
    if (badLength !== null) return null;
    partial = Buffer.allocUnsafe(length);
    partial.set(lengthField);
    return null;
  }

  /** Returns the length of a frame that lies completely in `chunk` at `offset`, or 0. */
  function wholeLength(chunk: Uint8Array, offset: number): number {
    if (filled > 0 || chunk.length - offset < LENGTH_OCTETS) return 0;
    const length = readLength(chunk, offset);
    return length <= chunk.length - offset ? length : 0;
  }

  function push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let offset = 0;
    while (offset < chunk.length && badLength === null) {
      const length = wholeLength(chunk, offset);
      if (badLength !== null) break;
      const frame = length > 0 ? chunk.subarray(offset, offset + length) : null;
      offset = frame ? offset + length : fill(chunk, offset);
      const complete = frame ?? completed();
      if (complete) frames.push(complete);
    }
    return frames;
  }

  return { push, invalidLength: () => badLength };
}

/** Reads a big-endian integer; the four octets must exist. */
function uint32(bytes: Uint8Array, offset: number): number {
  const octet = (at: number): number => bytes[offset + at] ?? 0;
  return octet(0) * 0x1000000 + ((octet(1) << 16) | (octet(2) << 8) | octet(3));
}
