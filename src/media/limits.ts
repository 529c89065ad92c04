import { AppError, invalidFields } from '../platform/errors.ts';

const MIB = 1024 * 1024;

/** The limits of media files. */
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
