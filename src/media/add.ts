import { randomBytes, randomUUID } from 'node:crypto';
import { type Author, recordAudit } from '../identity/audit/record.ts';
import type { Db } from '../platform/db/query.ts';
import type { Actor } from '../platform/lib/actor.ts';
import { cancelRemovals } from '../platform/storage/removals.ts';
import { insertRemovals } from '../platform/storage/sql.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { Inspected } from './inspect-file.ts';
import { insertMedia, type MediaRow } from './sql.ts';

/** A stored file without a row is deleted after this time. */
export const ORPHAN_SECONDS = 3600;

/** Returns a random key that identifies a file in links and paths. */
export const newMediaKey = (): string => randomBytes(16).toString('base64url');
/** Returns a random key for a file in the store. */
export const newFileKey = (accountId: number): string => `media/${accountId}/${randomUUID()}`;

/** A file that is in the store but has no row yet. */
export type StoredFile = Pick<
  MediaRow,
  'mimeType' | 'sizeBytes' | 'width' | 'height' | 'durationSeconds' | 'fileKey' | 'thumbnailKey' | 'thumbnailBytes'
>;

/** Writes an upload into the store. Unless `addMedia` follows, it is deleted after an hour. */
export async function storeUpload(
  { db, storage }: { db: Db; storage: Storage },
  { accountId }: Pick<Actor, 'accountId'>,
  { octets, thumbnail, ...facts }: Inspected,
): Promise<StoredFile> {
  const fileKey = newFileKey(accountId);
  const thumbnailKey = thumbnail && newFileKey(accountId);
  const keys = [fileKey, ...(thumbnailKey === null ? [] : [thumbnailKey])];
  await insertRemovals(db, { accountId, keys, afterSeconds: ORPHAN_SECONDS });
  await storage.put(fileKey, octets, { contentType: facts.mimeType });
  if (thumbnail && thumbnailKey !== null) await storage.put(thumbnailKey, thumbnail, { contentType: 'image/jpeg' });
  const thumbnailBytes = thumbnail && thumbnail.length;
  return { ...facts, sizeBytes: octets.length, fileKey, thumbnailKey, thumbnailBytes };
}

/** Fields of an upload that its sender provides. */
export type Description = Pick<MediaRow, 'name' | 'description' | 'folderId'>;

/** Inserts the row of a file that `storeUpload` wrote; audited. Call it in a transaction. */
export async function addMedia(tx: Db, author: Author, { stored, ...named }: Description & { stored: StoredFile }) {
  const { accountId } = author;
  const { fileKey, thumbnailKey } = stored;
  const media = await insertMedia(tx, {
    accountId,
    mediaKey: newMediaKey(),
    origin: 'UPLOAD',
    ...named,
    ...stored,
  });
  await cancelRemovals(tx, { accountId, keys: [fileKey, ...(thumbnailKey === null ? [] : [thumbnailKey])] });
  const { id, mimeType, sizeBytes } = media;
  await recordAudit(tx, author, { action: 'media.create', subject: `media:${id}`, detail: { mimeType, sizeBytes } });
  return media;
}
