import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A segment of WAL by its file name: the timeline, and the place on it, in hex digits. */
const SEGMENT = /^[0-9A-F]{24}$/;
const TIMELINE_DIGITS = 8;
/** Each 16 MiB. */
const SEGMENT_BITS = 24n;

/** Whether a file in a folder of WAL is a segment or belongs to one, like the history of a backup. */
export const isOfSegment = (name: string): boolean => SEGMENT.test(name.slice(0, 24));

/** The timeline of a segment or of a history of timelines. */
export const timelineOf = (name: string): string => name.slice(0, TIMELINE_DIGITS);

/** The place of a segment, which orders the segments of all timelines. */
export const placeOf = (segment: string): string => segment.slice(TIMELINE_DIGITS);

/** Lists the complete segments and the histories of timelines in a folder, in the order of their names. */
export async function listWal(folder: string): Promise<{ segments: string[]; histories: string[] }> {
  const names = (await readdir(folder)).toSorted();
  return {
    segments: names.filter((name) => SEGMENT.test(name)),
    histories: names.filter((name) => /^[0-9A-F]{8}\.history$/.test(name)),
  };
}

/**
 * Reads where a timeline left the one before it, from its history in a folder of WAL: the segment of the earlier timeline
 * in which it did.
 */
export async function findBranch(folder: string, timeline: string): Promise<string> {
  const history = await readFile(join(folder, `${timeline}.history`), 'utf8');
  // Lines of timeline, position and reason; the last one is that of the parent.
  const lines = history.split('\n').flatMap((line) => /^(\d+)\t([0-9A-F]+)\/([0-9A-F]+)/.exec(line) ?? []);
  const [parent = '', high = '', low = ''] = lines.slice(-3);
  const place = (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
  const [upper, lower] = [place >> 32n, (place & 0xffffffffn) >> SEGMENT_BITS];
  return [BigInt(parent), upper, lower].map((part) => part.toString(16).toUpperCase().padStart(8, '0')).join('');
}
