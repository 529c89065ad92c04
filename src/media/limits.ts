import { AppError, invalidFields } from '../platform/errors.ts';

const MIB = 1024 * 1024;

export const LIMITS = {
  imageBytes: 5 * MIB,
  videoBytes: 16 * MIB,
  /** Of a picture, all frames together: what it takes once it is unpacked is bounded by this. */
  pixels: 25_000_000,
  /** Of either side of an image or video. */
  side: 16_384,
  frames: 1000,
} as const;

/** 400: what is wrong with the file, for people. */
export const badFile = (message: string): AppError => invalidFields([{ field: 'file', message }]);

/** 413. */
export const tooLarge = (what: string, bytes: number): AppError => {
  const message = `${what} has at most ${bytes / MIB} MiB`;
  return new AppError('too_large', { message: `file: ${message}`, details: [{ field: 'file', message }] });
};
