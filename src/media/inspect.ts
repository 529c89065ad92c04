import { detectPolyglot } from './polyglot.ts';
import { badFile, LIMITS, tooLarge } from './limits.ts';
import { reencodePicture } from './picture.ts';
import { type Claim, type MediaType, detectType } from './type.ts';
import { probeVideo } from './video.ts';

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
export async function inspect(octets: Buffer, claim: Claim): Promise<Inspection> {
  if (octets.length === 0) throw badFile('is empty');
  const mimeType = await detectType(octets, claim);
  const isVideo = mimeType === 'video/mp4';
  const maxBytes = isVideo ? LIMITS.videoBytes : LIMITS.imageBytes;
  if (octets.length > maxBytes) throw tooLarge(isVideo ? 'A video' : 'A picture', maxBytes);
  const alsoIs = detectPolyglot(octets, mimeType);
  if (alsoIs !== undefined) throw badFile(`is both ${mimeType} and ${alsoIs}`);
  if (mimeType === 'video/mp4') return { mimeType, reencoded: null, ...probeVideo(octets), thumbnail: null };
  const { octets: reencoded, ...picture } = await reencodePicture(octets, mimeType);
  return { mimeType, reencoded, durationSeconds: null, ...picture };
}
