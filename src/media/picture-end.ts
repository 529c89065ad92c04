/** Where a PNG ends (PNG 3rd edition, 5.3): behind its chunk IEND; at the end of the file when there is none. */
export function pngEnd(octets: Buffer): number {
  for (let at = 8; at + 12 <= octets.length; ) {
    const end = at + 12 + octets.readUInt32BE(at);
    if (octets.toString('latin1', at + 4, at + 8) === 'IEND') return end;
    at = end;
  }
  return octets.length;
}

const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;

/** Where a GIF ends (GIF89a, 27): behind its trailer; at the end of the file when its blocks do not lead to one. */
export function gifEnd(octets: Buffer): number {
  let at = 13 + tableBytes(octets[10]);
  while (at < octets.length) {
    const kind = octets[at];
    if (kind === TRAILER) return at + 1;
    if (kind === EXTENSION) at = blocksEnd(octets, at + 2);
    // Its descriptor, its table of colours, the octet before its data.
    else if (kind === IMAGE) at = blocksEnd(octets, at + 11 + tableBytes(octets[at + 9]));
    else return octets.length;
  }
  return octets.length;
}

/** Of a table of colours, if these flags say that there is one. */
const tableBytes = (flags = 0): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** Blocks each begin with their length; one of none is the last. */
function blocksEnd(octets: Buffer, start: number): number {
  let at = start;
  for (let length = octets[at]; length; length = octets[at]) at += length + 1;
  return at + 1;
}
