/** A box of an MP4 (ISO/IEC 14496-12, 4.2): its type, and where its content begins and ends in the file. */
export type Box = { readonly type: string; readonly start: number; readonly end: number };

/** Far more than any video of 16 MiB has beside each other. */
const MAX_BOXES = 10_000;

/**
 * The boxes from `start` to `end`, one beside the other; undefined when they do not fill that space exactly, or one has
 * room for less than itself.
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

/** Octets of the header and of the whole. A size of 0 means up to the end, one of 1 that 64 bits with the size follow. */
function sizeOf(octets: Buffer, at: number, end: number): readonly [header: number, size: number] {
  const size = octets.readUInt32BE(at);
  if (size === 0) return [8, end - at];
  if (size !== 1) return [8, size];
  return at + 16 <= end ? [16, Number(octets.readBigUInt64BE(at + 8))] : [16, 0];
}

/** The boxes of the last type on the way; none where a box on the way is missing or broken. */
export function boxesAt(octets: Buffer, parent: Box, ...way: readonly string[]): Box[] {
  return way.reduce<Box[]>(
    (parents, type) =>
      parents.flatMap(({ start, end }) => (readBoxes(octets, start, end) ?? []).filter((box) => box.type === type)),
    [parent],
  );
}
