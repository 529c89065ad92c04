import type { LinkSigner } from '../platform/storage/signed-links.ts';
import type { MediaRow } from './sql.ts';
import { HOUR_MS } from '../platform/lib/time.ts';

/** Makes the public URLs of media: signed, and good for 24 to 25 hours from `now`. */
export type MediaLinks = (
  media: Pick<MediaRow, 'accountId' | 'mediaKey' | 'linkVersion' | 'thumbnailKey'>,
  now: Date,
) => { readonly url: string; readonly thumbnailUrl: string | null };

const LIFE_MS = 24 * HOUR_MS;

export const FILES_PATH = '/api/files';

export function createMediaLinks({ links, publicUrl }: { links: LinkSigner; publicUrl: string }): MediaLinks {
  return ({ accountId, mediaKey: id, linkVersion: version, thumbnailKey }, now) => {
    // At full hours, so that a URL stays the same for an hour and what was fetched by it can be kept.
    const expiresAt = new Date(Math.ceil(now.getTime() / HOUR_MS) * HOUR_MS + LIFE_MS);
    const signed = (kind: 'media' | 'thumbnail'): string => links.sign({ kind, accountId, id, version }, expiresAt);
    const path = `${publicUrl}${FILES_PATH}/${id}`;
    return {
      url: `${path}?${signed('media')}`,
      thumbnailUrl: thumbnailKey === null ? null : `${path}?size=thumbnail&${signed('thumbnail')}`,
    };
  };
}
