import { type Box, boxesAt, readBoxes } from './boxes.ts';
import { badFile, LIMITS } from './limits.ts';

export type Video = { readonly width: number; readonly height: number; readonly durationSeconds: number };

/** The types of boxes that may occur at the top level of the file. */
const TOP_LEVEL: ReadonlySet<string> = new Set(
  ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'uuid', 'udta', 'meta', 'pdin'].concat(['moof', 'sidx', 'mfra']),
);

/**
 * Reads the dimensions and the duration of a video (ISO/IEC 14496-12 and -14) and checks that it is one: its boxes fill
 * the file to the end, and it has a video track whose frames are within the media data. Nothing is decoded. Throws 400
 * if it is not a video.
 */
export function probeVideo(octets: Buffer): Video {
  const boxes = readBoxes(octets);
  if (!boxes || boxes[0]?.type !== 'ftyp' || boxes.some(({ type }) => !TOP_LEVEL.has(type)))
    throw badFile('is not a valid MP4: its boxes do not fill the file');
  const moov = boxes.find(({ type }) => type === 'moov');
  const tracks = moov ? boxesAt(octets, moov, 'trak') : [];
  if (!moov || tracks.length === 0) throw badFile('is not a valid MP4: it has no tracks');
  if (boxesAt(octets, moov, 'mvex').length > 0) throw badFile('is a fragmented MP4: save it without fragments');
  const track = tracks.find((each) => handlerOf(octets, each) === 'vide');
  if (!track) throw badFile('is not a video: it has no video track');
  const data = boxes.filter(({ type }) => type === 'mdat');
  if (!hasFrames(octets, track, data)) throw badFile('is not a valid MP4: its frames are not in the file');
  const video = { ...sizeOf(octets, track), durationSeconds: durationOf(octets, moov) };
  if (!isPlausible(video)) throw badFile('is not a valid MP4: its dimensions or duration are impossible');
  return video;
}

const isPlausible = ({ width, height, durationSeconds }: Video): boolean =>
  [width, height].every((side) => side >= 1 && side <= LIMITS.side) && durationSeconds > 0 && durationSeconds < 86_400;

/** Returns the kind of a track, such as `vide` or `soun` (8.4.3). */
function handlerOf(octets: Buffer, track: Box): string {
  const hdlr = sized(boxesAt(octets, track, 'mdia', 'hdlr')[0], 12);
  return hdlr ? octets.toString('latin1', hdlr.start + 8, hdlr.start + 12) : '';
}

/** True if the track has frames, and its first and last chunks start within the media data (8.7.3 and 8.7.5). */
function hasFrames(octets: Buffer, track: Box, data: readonly Box[]): boolean {
  const tables = (type: string, bytes: number): Box | undefined =>
    sized(boxesAt(octets, track, 'mdia', 'minf', 'stbl', type)[0], bytes);
  const [formats, sizes] = [tables('stsd', 16), tables('stsz', 12) ?? tables('stz2', 12)];
  const [offsets, wide] = [tables('stco', 12), tables('co64', 16)];
  if (!formats || !sizes || octets.readUInt32BE(sizes.start + 8) === 0) return false;
  const width = offsets ? 4 : 8;
  const table = offsets ?? wide;
  const count = table ? octets.readUInt32BE(table.start + 4) : 0;
  if (!table || count === 0 || table.start + 8 + count * width > table.end) return false;
  return [0, count - 1]
    .map((n) => table.start + 8 + n * width)
    .map((at) => (width === 4 ? octets.readUInt32BE(at) : Number(octets.readBigUInt64BE(at))))
    .every((offset) => data.some(({ start, end }) => offset >= start && offset < end));
}

/** Returns the duration in seconds (8.2.2); version 1 of the box has 64-bit times. */
function durationOf(octets: Buffer, moov: Box): number {
  const mvhd = sized(boxesAt(octets, moov, 'mvhd')[0], 100);
  if (!mvhd) return 0;
  const isLong = octets[mvhd.start] === 1;
  const at = mvhd.start + (isLong ? 20 : 12);
  const ticks = isLong ? Number(octets.readBigUInt64BE(at + 4)) : octets.readUInt32BE(at + 4);
  return Math.round((ticks / octets.readUInt32BE(at)) * 1000) / 1000;
}

/** Returns the displayed dimensions (8.3.2, in 16.16 fixed point): a quarter turn swaps width and height. */
function sizeOf(octets: Buffer, track: Box): Pick<Video, 'width' | 'height'> {
  const tkhd = sized(boxesAt(octets, track, 'tkhd')[0], 84);
  if (!tkhd) return { width: 0, height: 0 };
  const matrix = tkhd.end - 44;
  const [width, height] = [tkhd.end - 8, tkhd.end - 4].map((at) => Math.round(octets.readUInt32BE(at) / 65_536));
  const isTurned = octets.readInt32BE(matrix) === 0 && octets.readInt32BE(matrix + 16) === 0;
  return isTurned ? { width: height ?? 0, height: width ?? 0 } : { width: width ?? 0, height: height ?? 0 };
}

const sized = (box: Box | undefined, bytes: number): Box | undefined =>
  box && box.end - box.start >= bytes ? box : undefined;
