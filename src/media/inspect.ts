import { extname } from 'node:path';
import { fileTypeFromBuffer } from 'file-type';
import type { Sharp, SharpOptions } from 'sharp';
import { AppError, invalidFields } from '../core/errors.ts';

/** Result of inspecting a file that is safe to store and send. */
export type Inspection = {
  readonly mimeType: MediaType;
  /** The re-encoded content of a picture; null for a video, which is unchanged. */
  readonly reencoded: Buffer | null;
  readonly width: number;
  readonly height: number;
  readonly durationSeconds: number | null;
  readonly thumbnail: Buffer | null;
};

/**
 * Detects the type of a file from its content and makes it harmless. Errors: 400 for anything but JPEG, PNG, GIF and
 * MP4, for a file name or declared type that does not match, for polyglots and for files that cannot be decoded; 413
 * beyond 5 MiB (pictures) or 16 MiB (videos). A hostile file can keep the thread busy for seconds: the gateway runs
 * this in a separate process.
 */
export async function inspect(bytes: Buffer, claim: Claim): Promise<Inspection> {
  if (bytes.length === 0) throw badFile('is empty');
  const mimeType = await detectType(bytes, claim);
  const isVideo = mimeType === 'video/mp4';
  const maxBytes = isVideo ? LIMITS.videoBytes : LIMITS.imageBytes;
  if (bytes.length > maxBytes) throw tooLarge(isVideo ? 'A video' : 'A picture', maxBytes);
  const alsoIs = detectPolyglot(bytes, mimeType);
  if (alsoIs !== undefined) throw badFile(`is both ${mimeType} and ${alsoIs}`);
  if (mimeType === 'video/mp4') return { mimeType, reencoded: null, ...probeVideo(bytes), thumbnail: null };
  const { bytes: reencoded, ...picture } = await reencodePicture(bytes, mimeType);
  return { mimeType, reencoded, durationSeconds: null, ...picture };
}

export const MEDIA_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'video/mp4'] as const;
type MediaType = (typeof MEDIA_TYPES)[number];

const EXTENSIONS: Record<MediaType, readonly string[]> = {
  'image/jpeg': ['.jpg', '.jpeg', '.jpe', '.jfif'],
  'image/png': ['.png', '.apng'],
  'image/gif': ['.gif'],
  'video/mp4': ['.mp4', '.m4v'],
};

/** Other names of the types, used by type detection and by senders. */
const ALIASES: Readonly<Record<string, MediaType>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/x-png': 'image/png',
  'video/x-m4v': 'video/mp4',
};

const named = (name: string): MediaType | undefined => ALIASES[name] ?? MEDIA_TYPES.find((type) => type === name);

/** Declared types without information. A part without a type counts as `text/plain` (RFC 7578, 4.4). */
const UNSPECIFIC_TYPES: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'text/plain']);

/** The file name and the type that the sender declares. */
export type Claim = { readonly fileName: string; readonly contentType: string };

/**
 * Detects the type of a file from its content alone. Throws 400 if it is not a supported type, or if its name or its
 * declared type contradict the content: a client that relies on them would misread the file.
 */
async function detectType(bytes: Uint8Array, { fileName, contentType }: Claim): Promise<MediaType> {
  const found = await fileTypeFromBuffer(bytes);
  const type = found && named(found.mime);
  if (!type) throw badFile(`must be JPEG, PNG, GIF or MP4${found ? `; its content is ${found.mime}` : ''}`);
  const extension = /^\.[a-z][a-z0-9]{0,4}$/i.exec(extname(fileName))?.[0].toLowerCase();
  if (extension !== undefined && !EXTENSIONS[type].includes(extension))
    throw badFile(`has the extension ${extension}, but its content is ${type}`);
  const said = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!UNSPECIFIC_TYPES.has(said) && named(said) !== type)
    throw badFile(`was sent as ${said.slice(0, 100)}, but its content is ${type}`);
  return type;
}

const MIB = 1024 * 1024;

export const LIMITS = {
  imageBytes: 5 * MIB,
  videoBytes: 16 * MIB,
  /** Maximum number of pixels of a picture, over all frames; it bounds the memory that decoding takes. */
  pixels: 25_000_000,
  /** Maximum width and height of a picture or video, in pixels. */
  side: 16_384,
  frames: 1000,
} as const;

/** Creates a 400 error that describes the problem of the file. */
export const badFile = (message: string): AppError => invalidFields([{ field: 'file', message }]);

/** Creates a 413 error that states the limit. */
export const tooLarge = (what: string, bytes: number): AppError => {
  const message = `${what} may have at most ${bytes / MIB} MiB`;
  return new AppError('too_large', { message: `file: ${message}`, details: [{ field: 'file', message }] });
};

/** A re-encoded picture. */
type Picture = {
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
  /** A JPEG of at most 320 by 320. */
  readonly thumbnail: Buffer;
};

type PictureType = Exclude<MediaType, 'video/mp4'>;

const TIMEOUT_SECONDS = 15;
const THUMBNAIL_SIDE = 320;
/** Tried in this order until the result is small enough. */
const JPEG_QUALITIES = [85, 70, 50] as const;

/**
 * Re-encodes a picture: its pixels, rotated upright, without anything else from the file. An animation keeps its
 * frames, their durations and its number of loops. Errors: 400 when it cannot be decoded, is too large when unpacked,
 * or takes too long; 413 when the result cannot be made smaller than 5 MiB.
 */
async function reencodePicture(bytes: Buffer, type: PictureType): Promise<Picture> {
  const sharp = await loadSharp();
  const open = (options: SharpOptions = {}): Sharp =>
    sharp(bytes, { failOn: 'error', limitInputPixels: LIMITS.pixels, ...options }).timeout({
      seconds: TIMEOUT_SECONDS,
    });
  const { pages = 1, isPalette } = await asUnreadable(open().metadata());
  if (pages > LIMITS.frames) throw badFile(`must have at most ${LIMITS.frames} frames`);
  for (const write of writersOf(type, isPalette)) {
    const image = write(open({ animated: type === 'image/gif' }).autoOrient());
    const { data, info } = await asUnreadable(image.toBuffer({ resolveWithObject: true }));
    if (data.length > LIMITS.imageBytes) continue;
    const thumbnail = await asUnreadable(thumbnailOf(open()));
    return { bytes: data, width: info.width, height: info.pageHeight ?? info.height, thumbnail };
  }
  throw tooLarge('A re-encoded picture', LIMITS.imageBytes);
}

/** Turns any error of the decoder into 400: the sender can only send another picture. */
const asUnreadable = <T>(promise: Promise<T>): Promise<T> =>
  promise.catch((error: unknown) => Promise.reject(badFile(faultIn(error))));

/** Describes an error of libvips for the sender: its own text names functions of libraries. */
function faultIn(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/pixel limit/i.test(text)) return 'exceeds the pixel limit';
  if (/timeout|timed out/i.test(text)) return 'takes too long to decode';
  return 'cannot be read: the picture is damaged or incomplete';
}

type Write = (image: Sharp) => Sharp;

function writersOf(type: PictureType, isPalette = false): readonly Write[] {
  if (type === 'image/gif') return [(image) => image.gif({ effort: 4 })];
  if (type === 'image/png') return [(image) => image.png({ compressionLevel: 9, palette: isPalette, dither: 0 })];
  return JPEG_QUALITIES.map((quality) => (image: Sharp) => image.jpeg({ quality }));
}

const thumbnailOf = (image: Sharp): Promise<Buffer> =>
  image
    .autoOrient()
    .resize(THUMBNAIL_SIDE, THUMBNAIL_SIDE, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: 75 })
    .toBuffer();

let loading: ReturnType<typeof load> | undefined;
/** Loads sharp at the first picture: it takes 180 ms and 20 MB. */
const loadSharp = () => (loading ??= load());

/**
 * Loads sharp and allows only our formats. Must run only once: no picture can be read while all formats are blocked.
 */
async function load() {
  const { default: sharp } = await import('sharp');
  sharp.cache(false);
  sharp.concurrency(1);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadNsgif'] });
  return sharp;
}

type Video = { readonly width: number; readonly height: number; readonly durationSeconds: number };

/** The types of boxes that may occur at the top level of the file. */
const TOP_LEVEL: ReadonlySet<string> = new Set(
  ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'uuid', 'udta', 'meta', 'pdin'].concat(['moof', 'sidx', 'mfra']),
);

/**
 * Reads the dimensions and the duration of a video (ISO/IEC 14496-12 and -14) and checks that it is one: its boxes fill
 * the file to the end, and it has a video track whose frames are within the media data. Nothing is decoded. Throws 400
 * if it is not a video.
 */
export function probeVideo(bytes: Buffer): Video {
  const boxes = readBoxes(bytes);
  if (!boxes || boxes[0]?.type !== 'ftyp' || boxes.some(({ type }) => !TOP_LEVEL.has(type)))
    throw badFile('is not a valid MP4: its boxes do not fill the file');
  const moov = boxes.find(({ type }) => type === 'moov');
  const tracks = moov ? boxesAt(bytes, moov, 'trak') : [];
  if (!moov || tracks.length === 0) throw badFile('is not a valid MP4: it has no tracks');
  if (boxesAt(bytes, moov, 'mvex').length > 0) throw badFile('is a fragmented MP4: save it without fragments');
  const track = tracks.find((each) => handlerOf(bytes, each) === 'vide');
  if (!track) throw badFile('is not a video: it has no video track');
  const data = boxes.filter(({ type }) => type === 'mdat');
  if (!hasFrames(bytes, track, data)) throw badFile('is not a valid MP4: its frames are not in the file');
  const video = { ...sizeOf(bytes, track), durationSeconds: durationOf(bytes, moov) };
  if (!isPlausible(video)) throw badFile('is not a valid MP4: its dimensions or duration are impossible');
  return video;
}

const isPlausible = ({ width, height, durationSeconds }: Video): boolean =>
  [width, height].every((side) => side >= 1 && side <= LIMITS.side) && durationSeconds > 0 && durationSeconds < 86_400;

/** Returns the kind of a track, such as `vide` or `soun` (8.4.3). */
function handlerOf(bytes: Buffer, track: Box): string {
  const hdlr = sized(boxesAt(bytes, track, 'mdia', 'hdlr')[0], 12);
  return hdlr ? bytes.toString('latin1', hdlr.start + 8, hdlr.start + 12) : '';
}

/** True if the track has frames, and its first and last chunks start within the media data (8.7.3 and 8.7.5). */
function hasFrames(bytes: Buffer, track: Box, data: readonly Box[]): boolean {
  const tables = (type: string, size: number): Box | undefined =>
    sized(boxesAt(bytes, track, 'mdia', 'minf', 'stbl', type)[0], size);
  const [formats, sizes] = [tables('stsd', 16), tables('stsz', 12) ?? tables('stz2', 12)];
  const [offsets, wide] = [tables('stco', 12), tables('co64', 16)];
  if (!formats || !sizes || bytes.readUInt32BE(sizes.start + 8) === 0) return false;
  const width = offsets ? 4 : 8;
  const table = offsets ?? wide;
  const count = table ? bytes.readUInt32BE(table.start + 4) : 0;
  if (!table || count === 0 || table.start + 8 + count * width > table.end) return false;
  return [0, count - 1]
    .map((n) => table.start + 8 + n * width)
    .map((at) => (width === 4 ? bytes.readUInt32BE(at) : Number(bytes.readBigUInt64BE(at))))
    .every((offset) => data.some(({ start, end }) => offset >= start && offset < end));
}

/** Returns the duration in seconds (8.2.2); version 1 of the box has 64-bit times. */
function durationOf(bytes: Buffer, moov: Box): number {
  const mvhd = sized(boxesAt(bytes, moov, 'mvhd')[0], 100);
  if (!mvhd) return 0;
  const isLong = bytes[mvhd.start] === 1;
  const at = mvhd.start + (isLong ? 20 : 12);
  const ticks = isLong ? Number(bytes.readBigUInt64BE(at + 4)) : bytes.readUInt32BE(at + 4);
  return Math.round((ticks / bytes.readUInt32BE(at)) * 1000) / 1000;
}

/** Returns the displayed dimensions (8.3.2, in 16.16 fixed point): a quarter turn swaps width and height. */
function sizeOf(bytes: Buffer, track: Box): Pick<Video, 'width' | 'height'> {
  const tkhd = sized(boxesAt(bytes, track, 'tkhd')[0], 84);
  if (!tkhd) return { width: 0, height: 0 };
  const matrix = tkhd.end - 44;
  const [width, height] = [tkhd.end - 8, tkhd.end - 4].map((at) => Math.round(bytes.readUInt32BE(at) / 65_536));
  const isTurned = bytes.readInt32BE(matrix) === 0 && bytes.readInt32BE(matrix + 16) === 0;
  return isTurned ? { width: height ?? 0, height: width ?? 0 } : { width: width ?? 0, height: height ?? 0 };
}

const sized = (box: Box | undefined, bytes: number): Box | undefined =>
  box && box.end - box.start >= bytes ? box : undefined;

/** A box of an MP4 (ISO/IEC 14496-12, 4.2): its type, and the start and end of its content in the file. */
type Box = { readonly type: string; readonly start: number; readonly end: number };

/** Far more boxes than any video of 16 MiB has on one level. */
const MAX_BOXES = 10_000;

/**
 * Reads the sequence of boxes from `start` to `end`. Undefined if they do not fill that space exactly, or if a box is
 * smaller than its own header.
 */
function readBoxes(bytes: Buffer, start = 0, end = bytes.length): Box[] | undefined {
  const boxes: Box[] = [];
  for (let at = start; at < end; ) {
    if (at + 8 > end || boxes.length >= MAX_BOXES) return undefined;
    const [header, size] = boxSizeOf(bytes, at, end);
    if (size < header || at + size > end) return undefined;
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), start: at + header, end: at + size });
    at += size;
  }
  return boxes;
}

/** Returns the bytes of header and box. A size of 0 means up to the end; 1 means that the size follows in 64 bits. */
function boxSizeOf(bytes: Buffer, at: number, end: number): readonly [header: number, size: number] {
  const size = bytes.readUInt32BE(at);
  if (size === 0) return [8, end - at];
  if (size !== 1) return [8, size];
  return at + 16 <= end ? [16, Number(bytes.readBigUInt64BE(at + 8))] : [16, 0];
}

/** Finds the boxes at a path of types below `parent`; none if a box on the path is missing or malformed. */
function boxesAt(bytes: Buffer, parent: Box, ...path: readonly string[]): Box[] {
  return path.reduce<Box[]>(
    (parents, type) =>
      parents.flatMap(({ start, end }) => (readBoxes(bytes, start, end) ?? []).filter((box) => box.type === type)),
    [parent],
  );
}

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
function detectPolyglot(bytes: Buffer, type: MediaType): string | undefined {
  // latin1 gives one character per byte.
  const text = bytes.toString('latin1');
  const found = MARKERS.find(([marker]) => marker.test(text));
  if (found) return found[1];
  if (['Rar!\x1a\x07', '7z\xbc\xaf\x27\x1c'].some((signature) => text.includes(signature))) return 'an archive';
  if (text.includes('PK\x01\x02') && text.includes('PK\x05\x06')) return 'a ZIP archive';
  // PDF readers search the first 1,024 bytes of a file for it.
  if (text.slice(0, 1024).includes('%PDF-')) return 'a PDF';
  if (text.startsWith('ustar', 257) || text.startsWith('CD001', 0x8001)) return 'an archive';
  return hasTrailingData(bytes, type) ? 'data after its end' : undefined;
}

/**
 * True if a PNG or GIF continues after its end. JPEGs of phones have trailing data of many kinds (depth, brightness, a
 * short video), and the boxes of an MP4 go to the end of the file, so neither is checked.
 */
function hasTrailingData(bytes: Buffer, type: MediaType): boolean {
  if (type === 'image/png') return pngEnd(bytes) < bytes.length;
  return type === 'image/gif' && gifEnd(bytes) < bytes.length;
}

/** Returns the end of a PNG (PNG 3rd edition, 5.3), behind its IEND chunk; the end of the file when there is none. */
function pngEnd(bytes: Buffer): number {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IEND') return end;
    at = end;
  }
  return bytes.length;
}

const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;

/**
 * Returns the end of a GIF (GIF89a, 27), behind its trailer; the end of the file when its blocks do not lead to one.
 */
function gifEnd(bytes: Buffer): number {
  let at = 13 + colourTableBytes(bytes[10]);
  while (at < bytes.length) {
    const kind = bytes[at];
    if (kind === TRAILER) return at + 1;
    if (kind === EXTENSION) at = blocksEnd(bytes, at + 2);
    // Skips its descriptor, its colour table, and the byte before its data.
    else if (kind === IMAGE) at = blocksEnd(bytes, at + 11 + colourTableBytes(bytes[at + 9]));
    else return bytes.length;
  }
  return bytes.length;
}

/** Returns the size of the colour table that these flags announce; 0 if there is none. */
const colourTableBytes = (flags = 0): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** Returns the end of a sequence of blocks: each begins with its length, and an empty one is the last. */
function blocksEnd(bytes: Buffer, start: number): number {
  let at = start;
  for (let length = bytes[at]; length; length = bytes[at]) at += length + 1;
  return at + 1;
}
