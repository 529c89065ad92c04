import type { Db } from '../platform/db/query.ts';
import type { FieldError } from '../platform/errors.ts';
import type { MediaLinks } from './links.ts';
import { findUpload, listMedia, type MediaRow } from './sql.ts';

/** A media file as carriers and conversations need it; `url` needs no credentials and is valid for 24 to 25 hours. */
export type MediaToSend = Pick<
  MediaRow,
  'id' | 'name' | 'mimeType' | 'sizeBytes' | 'width' | 'height' | 'durationSeconds'
> & { readonly url: string; readonly thumbnailUrl: string | null };

function toMediaToSend(media: MediaRow, links: MediaLinks, now: Date): MediaToSend {
  const { id, name, mimeType, sizeBytes, width, height, durationSeconds } = media;
  return { id, name, mimeType, sizeBytes, width, height, durationSeconds, ...links(media, now) };
}

/**
 * Finds an upload of the account, with a URL to send; undefined for an unknown or foreign id. Call it when the message
 * goes to its carrier: a URL made when the message was accepted may have expired by then.
 */
export async function mediaForSend(
  db: Db,
  links: MediaLinks,
  { accountId, id, now }: { accountId: number; id: number; now: Date },
): Promise<MediaToSend | undefined> {
  const media = await findUpload(db, { accountId, id });
  return media && toMediaToSend(media, links, now);
}

/** Finds uploads and inbound files by their ids, for lists of messages. Unknown and foreign ids are omitted. */
export async function listMediaLinks(
  db: Db,
  links: MediaLinks,
  { accountId, ids, now }: { accountId: number; ids: readonly number[]; now: Date },
): Promise<Map<number, MediaToSend>> {
  const rows = await listMedia(db, { accountId, ids });
  return new Map(rows.map((media) => [media.id, toMediaToSend(media, links, now)]));
}

/** A file that a message refers to: the field of the request that names it, and the MIME types that it may have. */
export type WantedFile = { readonly field: string; readonly id: number; readonly types?: RegExp };

/** Returns the errors of the files that a message refers to; a foreign file reads as one that does not exist. */
export async function findFileErrors(
  db: Db,
  { accountId }: { readonly accountId: number },
  wanted: readonly WantedFile[],
): Promise<FieldError[]> {
  if (wanted.length === 0) return [];
  const rows = await listMedia(db, { accountId, ids: wanted.map(({ id }) => id) });
  const uploads = new Map(rows.flatMap((row) => (row.origin === 'UPLOAD' ? [[row.id, row.mimeType]] : [])));
  return wanted.flatMap(({ field, id, types }) => {
    const mimeType = uploads.get(id);
    if (mimeType === undefined) return [{ field, message: 'does not exist' }];
    return types?.test(mimeType) === false
      ? [{ field, message: `is ${mimeType}, which a message of this type cannot contain` }]
      : [];
  });
}
