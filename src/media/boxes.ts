/** A box of an MP4 (ISO/IEC 14496-12, 4.2): its type, and the start and end of its content in the file. */
export type Box = { readonly type: string; readonly start: number; readonly end: number };

/** Far more boxes than any video of 16 MiB has on one level. */
const MAX_BOXES = 10_000;

/**
 * Reads the sequence of boxes from `start` to `end`. Undefined if they do not fill that space exactly, or if a box is
 * smaller than its own header.
 */
export function readBoxes(octets: Buffer, start = 0, end = octets.length): Box[] | undefined {
  const boxes: Box[] = [];
  for (let at = start; at < end; ) {
    if (at + 8 > end || boxes.length >= MAX_BOXES) return undefined;
    const [header, size] = sizeOf(octets, at, end);
    if (size < header || at + size > end) return undefined;
    boxes.push({ type: octets.toString('latin1', at + 4, at + 8), start: at + header, end: at + size });
    at += size;
  }
  return boxes;
}

/** Returns the bytes of header and box. A size of 0 means up to the end; 1 means that the size follows in 64 bits. */
function sizeOf(octets: Buffer, at: number, end: number): readonly [header: number, size: number] {
  const size = octets.readUInt32BE(at);
  if (size === 0) return [8, end - at];
  if (size !== 1) return [8, size];
  return at + 16 <= end ? [16, Number(octets.readBigUInt64BE(at + 8))] : [16, 0];
}

/** Finds the boxes at a path of types below `parent`; none if a box on the path is missing or malformed. */
export function boxesAt(octets: Buffer, parent: Box, ...path: readonly string[]): Box[] {
  return path.reduce<Box[]>(
    (parents, type) =>
      parents.flatMap(({ start, end }) => (readBoxes(octets, start, end) ?? []).filter((box) => box.type === type)),
    [parent],
  );
}
