import type { Range } from '../../storage/storage.ts';

/**
 * Reads the Range header (RFC 9110, 14.2) for a file of this size. Returns `whole` if there is none, if it is not
 * supported (several ranges, another unit) or if it is invalid, which RFC 9110 allows us to ignore; and `beyond` if it
 * begins after the end of the file.
 */
export function readRange(header: string | undefined, sizeBytes: number): Range | 'whole' | 'beyond' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  const last = sizeBytes - 1;
  if (from === '') return to === '' ? 'whole' : lastOctets(Number(to), sizeBytes);
  const [start, end] = [Number(from), to === '' ? last : Number(to)];
  if (to !== '' && end < start) return 'whole';
  return start > last ? 'beyond' : { start, end: Math.min(end, last) };
}

const lastOctets = (count: number, sizeBytes: number): Range | 'beyond' =>
  count === 0 || sizeBytes === 0 ? 'beyond' : { start: Math.max(0, sizeBytes - count), end: sizeBytes - 1 };
