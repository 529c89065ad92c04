import type { FileHandle } from 'node:fs/promises';
import { createSlots } from '../platform/lib/slots.ts';
import { decodePicture } from './decoder/decode.ts';
import { detectPolyglot } from './polyglot.ts';
import { badFile, LIMITS, tooLarge } from './limits.ts';
import { type Claim, type MediaType, detectType } from './type.ts';
import { probeVideo } from './video.ts';

/** A file that may be kept and sent. */
export type Inspected = {
  readonly mimeType: MediaType;
  /** Of a picture not those that were sent, but the same picture, written anew. */
  readonly octets: Buffer;
  readonly width: number;
  readonly height: number;
  readonly durationSeconds: number | null;
  readonly thumbnail: Buffer | null;
};

/**
 * Contract 10: tells from its content what a file is, and makes it inert. Errors: 400 for anything but JPEG, PNG, GIF and
 * MP4, for a name or a claim that does not fit, for a file that is something else besides, for one that cannot be decoded;
 * 413 beyond 5 MiB (pictures) or 16 MiB (videos).
 */
export async function inspect(octets: Buffer, claim: Claim): Promise<Inspected> {
  if (octets.length === 0) throw badFile('is empty');
  const mimeType = await detectType(octets, claim);
  const isVideo = mimeType === 'video/mp4';
  const most = isVideo ? LIMITS.videoBytes : LIMITS.imageBytes;
  if (octets.length > most) throw tooLarge(isVideo ? 'A video' : 'A picture', most);
  const foreign = detectPolyglot(octets, mimeType);
  if (foreign !== undefined) throw badFile(`is ${mimeType} and ${foreign} at once`);
  if (mimeType === 'video/mp4') return { mimeType, octets, ...probeVideo(octets), thumbnail: null };
  return { mimeType, durationSeconds: null, ...(await decodePicture({ octets, type: mimeType })) };
}

/** A video is in memory here while it is read: three times 16 MiB at most. */
const work = createSlots(2);

/** `inspect`, of a file on the disk, two at a time. */
export const inspectFile = (file: FileHandle, claim: Claim): Promise<Inspected> =>
  work.run(async () => {
    const { size } = await file.stat();
    if (size > LIMITS.videoBytes) throw tooLarge('A video', LIMITS.videoBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return inspect(buffer.subarray(0, bytesRead), claim);
  });
