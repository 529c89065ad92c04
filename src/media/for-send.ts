import type { Db } from '../platform/db/query.ts';
import type { MediaLinks } from './links.ts';
import { findUpload, listMedia, type MediaRow } from './sql.ts';

/** A file as carriers and threads name it; `url` needs no credentials and lives 24 to 25 hours. */
export type MediaToSend = Pick<
  MediaRow,
  'id' | 'name' | 'mimeType' | 'sizeBytes' | 'width' | 'height' | 'durationSeconds'
> & { readonly url: string; readonly thumbnailUrl: string | null };

function toSend(media: MediaRow, links: MediaLinks, now: Date): MediaToSend {
  const { id, name, mimeType, sizeBytes, width, height, durationSeconds } = media;
  return { id, name, mimeType, sizeBytes, width, height, durationSeconds, ...links(media, now) };
}

/**
 * What an account has uploaded, to be sent; undefined for an unknown id and a foreign one. Ask when the message goes to
 * its carrier: a URL made when it was accepted may have expired by then.
 */
export async function mediaForSend(
  db: Db,
  links: MediaLinks,
  { accountId, id, now }: { accountId: number; id: number; now: Date },
): Promise<MediaToSend | undefined> {
  const media = await findUpload(db, { accountId, id });
  return media && toSend(media, links, now);
}

/** By id, for lists of messages: uploads and what came in. Unknown and foreign ids are left out. */
export async function listMediaLinks(
  db: Db,
  links: MediaLinks,
  { accountId, ids, now }: { accountId: number; ids: readonly number[]; now: Date },
): Promise<Map<number, MediaToSend>> {
  const rows = await listMedia(db, { accountId, ids });
  return new Map(rows.map((media) => [media.id, toSend(media, links, now)]));
}
