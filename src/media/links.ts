import { recordAudit } from '../identity/audit/record.ts';
import type { Db } from '../platform/db/query.ts';
import { AppError } from '../platform/errors.ts';
import type { Actor } from '../platform/lib/actor.ts';
import { HOUR_MS } from '../platform/lib/time.ts';
import type { LinkSigner } from '../platform/storage/signed-links.ts';
import { type MediaRow, updateLinkVersion } from './sql.ts';

/** Makes the public URLs of a media file: signed, and valid for 24 to 25 hours from `now`. */
export type MediaLinks = (
  media: Pick<MediaRow, 'accountId' | 'mediaKey' | 'linkVersion' | 'thumbnailKey'>,
  now: Date,
) => { readonly url: string; readonly thumbnailUrl: string | null };

const LIFETIME_MS = 24 * HOUR_MS;

/** The path under which media files are served. */
export const FILES_PATH = '/api/files';

/**
 * Creates the function that makes media URLs. A URL stays the same within an hour, so that clients can cache the file.
 */
export function createMediaLinks({ links, publicUrl }: { links: LinkSigner; publicUrl: string }): MediaLinks {
  return ({ accountId, mediaKey: id, linkVersion: version, thumbnailKey }, now) => {
    const expiresAt = new Date(Math.ceil(now.getTime() / HOUR_MS) * HOUR_MS + LIFETIME_MS);
    const signed = (kind: 'media' | 'thumbnail'): string => links.sign({ kind, accountId, id, version }, expiresAt);
    const path = `${publicUrl}${FILES_PATH}/${id}`;
    return {
      url: `${path}?${signed('media')}`,
      thumbnailUrl: thumbnailKey === null ? null : `${path}?size=thumbnail&${signed('thumbnail')}`,
    };
  };
}

/** Revokes all links to a file that were given out; audited. Errors: 404 for an unknown or foreign id. */
export async function revokeLinks(tx: Db, actor: Actor, { id }: { id: number }): Promise<MediaRow> {
  const media = await updateLinkVersion(tx, { accountId: actor.accountId, id });
  if (!media) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'media.revoke-links', subject: `media:${id}` });
  return media;
}
