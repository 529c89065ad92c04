import { gifEnd, pngEnd } from './picture-end.ts';
import type { MediaType } from './type.ts';

/** What makes other programs take a file for something else. Long enough not to occur in compressed octets by chance. */
const MARKS: readonly (readonly [mark: RegExp, what: string])[] = [
  [/<(?:script|iframe|!doctype)|<(?:html|body)[\s>]|<svg[^<]{0,500}xmlns|javascript:/i, 'HTML or SVG'],
  [/<\?php\s|__HALT_COMPILER/i, 'PHP'],
];

/**
 * Names what else a file is besides the media that it begins as (a polyglot): an archive, a document, a page with a
 * script; undefined when nothing is found. Pictures are written anew besides, so what this misses does not survive there.
 */
export function findForeign(octets: Buffer, type: MediaType): string | undefined {
  // One character an octet.
  const text = octets.toString('latin1');
  const mark = MARKS.find(([expression]) => expression.test(text));
  if (mark) return mark[1];
  if (['Rar!\x1a\x07', '7z\xbc\xaf\x27\x1c'].some((sign) => text.includes(sign))) return 'an archive';
  if (text.includes('PK\x01\x02') && text.includes('PK\x05\x06')) return 'a ZIP archive';
  // Readers look for it that far into a file.
  if (text.slice(0, 1024).includes('%PDF-')) return 'a PDF';
  if (text.startsWith('ustar', 257) || text.startsWith('CD001', 0x8001)) return 'an archive';
  return hasTail(octets, type) ? 'something behind its end' : undefined;
}

/** JPEGs of phones have tails of many kinds: depth, brightness, a short video. MP4 has none: its boxes go to the end. */
function hasTail(octets: Buffer, type: MediaType): boolean {
  if (type === 'image/png') return pngEnd(octets) < octets.length;
  return type === 'image/gif' && gifEnd(octets) < octets.length;
}
