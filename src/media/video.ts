import { type Box, boxesAt, readBoxes } from './boxes.ts';
import { badFile, LIMITS } from './limits.ts';

export type Video = { readonly width: number; readonly height: number; readonly durationSeconds: number };

/** What may stand beside each other in the file. */
const TOP: ReadonlySet<string> = new Set(
  ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'uuid', 'udta', 'meta', 'pdin'].concat(['moof', 'sidx', 'mfra']),
);

/**
 * Reads how large and how long a video is (ISO/IEC 14496-12 and -14), and that it is one: boxes that fill the file to its
 * end, a picture track with frames, which lie where the file has its data. Nothing is decoded. Throws 400 otherwise.
 */
export function probeVideo(octets: Buffer): Video {
  const boxes = readBoxes(octets);
  if (!boxes || boxes[0]?.type !== 'ftyp' || boxes.some(({ type }) => !TOP.has(type)))
    throw badFile('is no MP4: its boxes do not fill it');
  const moov = boxes.find(({ type }) => type === 'moov');
  const tracks = moov ? boxesAt(octets, moov, 'trak') : [];
  if (!moov || tracks.length === 0) throw badFile('is no MP4: it has no tracks');
  if (boxesAt(octets, moov, 'mvex').length > 0) throw badFile('is a fragmented MP4: save it as one piece');
  const track = tracks.find((each) => handlerOf(octets, each) === 'vide');
  if (!track) throw badFile('is no video: it has no picture track');
  const data = boxes.filter(({ type }) => type === 'mdat');
  if (!hasFrames(octets, track, data)) throw badFile('is no MP4: its frames are not in it');
  const video = { ...sizeOf(octets, track), durationSeconds: durationOf(octets, moov) };
  if (!isPlausible(video)) throw badFile('is no MP4: its size or duration cannot be');
  return video;
}

const isPlausible = ({ width, height, durationSeconds }: Video): boolean =>
  [width, height].every((side) => side >= 1 && side <= LIMITS.side) && durationSeconds > 0 && durationSeconds < 86_400;

/** `vide`, `soun` …: 8.4.3. */
function handlerOf(octets: Buffer, track: Box): string {
  const hdlr = sized(boxesAt(octets, track, 'mdia', 'hdlr')[0], 12);
  return hdlr ? octets.toString('latin1', hdlr.start + 8, hdlr.start + 12) : '';
}

/** 8.7.3 and 8.7.5: the track has frames, and the first and the last run of them begin within the data. */
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

/** 8.2.2: version 1 has 64 bits for its times. */
function durationOf(octets: Buffer, moov: Box): number {
  const mvhd = sized(boxesAt(octets, moov, 'mvhd')[0], 100);
  if (!mvhd) return 0;
  const isLong = octets[mvhd.start] === 1;
  const at = mvhd.start + (isLong ? 20 : 12);
  const ticks = isLong ? Number(octets.readBigUInt64BE(at + 4)) : octets.readUInt32BE(at + 4);
  return Math.round((ticks / octets.readUInt32BE(at)) * 1000) / 1000;
}

/** 8.3.2: in 16.16; a track that is turned by a quarter is shown as high as it is wide. */
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
