import type { FileHandle } from 'node:fs/promises';
import { createSlots } from '../platform/lib/limits/slots.ts';
import { decodePicture } from './decoder/decode.ts';
import { detectPolyglot } from './polyglot.ts';
import { badFile, LIMITS, tooLarge } from './limits.ts';
import { type Claim, type MediaType, detectType } from './type.ts';
import { probeVideo } from './video.ts';

/** A checked file, safe to store and send. */
export type Inspected = {
  readonly mimeType: MediaType;
  /** The content; pictures are re-encoded, so it is not what was sent. */
  readonly octets: Buffer;
  readonly width: number;
  readonly height: number;
  readonly durationSeconds: number | null;
  readonly thumbnail: Buffer | null;
};

/**
 * Detects the type of a file from its content and makes it harmless (contract 10). Errors: 400 for anything but JPEG,
 * PNG, GIF and MP4, for a file name or declared type that does not match, for polyglots and for files that cannot be
 * decoded; 413 beyond 5 MiB (pictures) or 16 MiB (videos).
 */
export async function inspect(octets: Buffer, claim: Claim): Promise<Inspected> {
  if (octets.length === 0) throw badFile('is empty');
  const mimeType = await detectType(octets, claim);
  const isVideo = mimeType === 'video/mp4';
  const maxBytes = isVideo ? LIMITS.videoBytes : LIMITS.imageBytes;
  if (octets.length > maxBytes) throw tooLarge(isVideo ? 'A video' : 'A picture', maxBytes);
  const alsoIs = detectPolyglot(octets, mimeType);
  if (alsoIs !== undefined) throw badFile(`is both ${mimeType} and ${alsoIs}`);
  if (mimeType === 'video/mp4') return { mimeType, octets, ...probeVideo(octets), thumbnail: null };
  return { mimeType, durationSeconds: null, ...(await decodePicture({ octets, type: mimeType })) };
}

/** Limits the memory: each video takes up to three times 16 MiB while it is inspected. */
const work = createSlots(2);

/** Runs `inspect` on a file on disk, at most two at a time. */
export const inspectFile = (file: FileHandle, claim: Claim): Promise<Inspected> =>
  work.run(async () => {
    const { size } = await file.stat();
    if (size > LIMITS.videoBytes) throw tooLarge('A video', LIMITS.videoBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return inspect(buffer.subarray(0, bytesRead), claim);
  });
