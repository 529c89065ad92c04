import type { Sharp, SharpOptions } from 'sharp';
import { badFile, LIMITS, tooLarge } from './limits.ts';
import type { MediaType } from './type.ts';

/** A re-encoded picture. */
export type Picture = {
  readonly octets: Buffer;
  readonly width: number;
  readonly height: number;
  /** A JPEG of at most 320 by 320. */
  readonly thumbnail: Buffer;
};

export type PictureType = Exclude<MediaType, 'video/mp4'>;

const TIMEOUT_SECONDS = 15;
const THUMBNAIL_SIDE = 320;
/** Tried in this order until the result is small enough. */
const JPEG_QUALITIES = [85, 70, 50] as const;

/**
 * Re-encodes a picture: its pixels, rotated upright, without anything else from the file. An animation keeps its
 * frames, their durations and its number of loops. Errors: 400 when it cannot be decoded, is too large when unpacked,
 * or takes too long; 413 when the result cannot be made smaller than 5 MiB.
 */
export async function reencodePicture(octets: Buffer, type: PictureType): Promise<Picture> {
  const sharp = await loadSharp();
  const open = (options: SharpOptions = {}): Sharp =>
    sharp(octets, { failOn: 'error', limitInputPixels: LIMITS.pixels, ...options }).timeout({
      seconds: TIMEOUT_SECONDS,
    });
  const { pages = 1, isPalette } = await asUnreadable(open().metadata());
  if (pages > LIMITS.frames) throw badFile(`must have at most ${LIMITS.frames} frames`);
  for (const write of writersOf(type, isPalette)) {
    const image = write(open({ animated: type === 'image/gif' }).autoOrient());
    const { data, info } = await asUnreadable(image.toBuffer({ resolveWithObject: true }));
    if (data.length > LIMITS.imageBytes) continue;
    const thumbnail = await asUnreadable(thumbnailOf(open()));
    return { octets: data, width: info.width, height: info.pageHeight ?? info.height, thumbnail };
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
