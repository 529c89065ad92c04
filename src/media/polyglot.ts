import type { MediaType } from './type.ts';

/**
 * Markers that make other programs take a file for something else; long enough not to occur in compressed bytes by
 * chance.
 */
const MARKERS: readonly (readonly [marker: RegExp, what: string])[] = [
  [/<(?:script|iframe|!doctype)|<(?:html|body)[\s>]|<svg[^<]{0,500}xmlns|javascript:/i, 'HTML or SVG'],
  [/<\?php\s|__HALT_COMPILER/i, 'PHP'],
];

/**
 * Names the other format of a file besides its media type (a polyglot file): an archive, a document, a page with a
 * script. Undefined when nothing is found. Pictures are also re-encoded, so anything missed here does not survive
 * there.
 */
export function detectPolyglot(octets: Buffer, type: MediaType): string | undefined {
  // latin1 gives one character per byte.
  const text = octets.toString('latin1');
  const found = MARKERS.find(([marker]) => marker.test(text));
  if (found) return found[1];
  if (['Rar!\x1a\x07', '7z\xbc\xaf\x27\x1c'].some((signature) => text.includes(signature))) return 'an archive';
  if (text.includes('PK\x01\x02') && text.includes('PK\x05\x06')) return 'a ZIP archive';
  // PDF readers search the first 1,024 bytes of a file for it.
  if (text.slice(0, 1024).includes('%PDF-')) return 'a PDF';
  if (text.startsWith('ustar', 257) || text.startsWith('CD001', 0x8001)) return 'an archive';
  return hasTrailingData(octets, type) ? 'data after its end' : undefined;
}

/**
 * True if a PNG or GIF continues after its end. JPEGs of phones have trailing data of many kinds (depth, brightness, a
 * short video), and the boxes of an MP4 go to the end of the file, so neither is checked.
 */
function hasTrailingData(octets: Buffer, type: MediaType): boolean {
  if (type === 'image/png') return pngEnd(octets) < octets.length;
  return type === 'image/gif' && gifEnd(octets) < octets.length;
}

/** Returns the end of a PNG (PNG 3rd edition, 5.3), behind its IEND chunk; the end of the file when there is none. */
function pngEnd(octets: Buffer): number {
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

/**
 * Returns the end of a GIF (GIF89a, 27), behind its trailer; the end of the file when its blocks do not lead to one.
 */
function gifEnd(octets: Buffer): number {
  let at = 13 + colourTableBytes(octets[10]);
  while (at < octets.length) {
    const kind = octets[at];
    if (kind === TRAILER) return at + 1;
    if (kind === EXTENSION) at = blocksEnd(octets, at + 2);
    // Skips its descriptor, its colour table, and the byte before its data.
    else if (kind === IMAGE) at = blocksEnd(octets, at + 11 + colourTableBytes(octets[at + 9]));
    else return octets.length;
  }
  return octets.length;
}

/** Returns the size of the colour table that these flags announce; 0 if there is none. */
const colourTableBytes = (flags = 0): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** Returns the end of a sequence of blocks: each begins with its length, and an empty one is the last. */
function blocksEnd(octets: Buffer, start: number): number {
  let at = start;
  for (let length = octets[at]; length; length = octets[at]) at += length + 1;
  return at + 1;
}
