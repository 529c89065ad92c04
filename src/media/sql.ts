import { containsPattern } from '../platform/db/like.ts';
import { type Db, many, maybeOne, one, sql } from '../platform/db/query.ts';
import { as, columns, type RowOf } from '../platform/db/select.ts';

/** Origin of a file: uploaded or received with a message. */
export type Origin = 'UPLOAD' | 'INBOUND';

const MEDIA = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  /** Identifies the file in links and paths. */
  mediaKey: as<string>('media_key'),
  origin: as<Origin>('origin'),
  name: as<string>('name'),
  description: as<string>('description'),
  folderId: as<number | null>('folder_id'),
  mimeType: as<string>('mime_type'),
  sizeBytes: as<number>('size_bytes'),
  width: as<number | null>('width'),
  height: as<number | null>('height'),
  durationSeconds: as<number | null>('duration_seconds'),
  /** Identifies the file in the store. */
  fileKey: as<string>('file_key'),
  thumbnailKey: as<string | null>('thumbnail_key'),
  thumbnailBytes: as<number | null>('thumbnail_bytes'),
  linkVersion: as<number>('link_version'),
  createdAt: as<Date>('created_at'),
});
export type MediaRow = RowOf<typeof MEDIA>;

export type NewMedia = Omit<MediaRow, 'id' | 'linkVersion' | 'createdAt'>;

export const insertMedia = (db: Db, media: NewMedia): Promise<MediaRow> =>
  one(
    db,
    sql`INSERT INTO media (account_id, media_key, origin, name, description, folder_id, mime_type, size_bytes, width,
        height, duration_seconds, file_key, thumbnail_key, thumbnail_bytes)
      VALUES (${media.accountId}, ${media.mediaKey}, ${media.origin}, ${media.name}, ${media.description},
        ${media.folderId}, ${media.mimeType}, ${media.sizeBytes}, ${media.width}, ${media.height},
        ${media.durationSeconds}, ${media.fileKey}, ${media.thumbnailKey}, ${media.thumbnailBytes})
      RETURNING ${MEDIA}`,
  );

type OfAccount = { readonly accountId: number };
type ById = OfAccount & { readonly id: number };
type Filter = OfAccount & {
  readonly folderId: number | null;
  readonly mimeType: string | null;
  /** A part of the name, case-insensitive; '' matches every name. */
  readonly name: string;
};

const matches = ({ accountId, folderId, mimeType, name }: Filter) =>
  sql`account_id = ${accountId} AND origin = 'UPLOAD'
    AND (${folderId}::bigint IS NULL OR folder_id = ${folderId})
    AND (${mimeType}::text IS NULL OR mime_type = ${mimeType})
    AND lower(name) LIKE ${containsPattern(name)}`;

/** Lists uploads, newest first. */
export const listUploads = (db: Db, input: Filter & { limit: number; offset: number }): Promise<MediaRow[]> =>
  many(
    db,
    sql`SELECT ${MEDIA} FROM media WHERE ${matches(input)}
      ORDER BY id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countUploads(db: Db, filter: Filter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM media WHERE ${matches(filter)}`);
  return row.total;
}

export const findUpload = (db: Db, { accountId, id }: ById): Promise<MediaRow | undefined> =>
  maybeOne(db, sql`SELECT ${MEDIA} FROM media WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD'`);

/** Finds a file of either origin. */
export const findByMediaKey = (
  db: Db,
  { accountId, mediaKey }: OfAccount & { mediaKey: string },
): Promise<MediaRow | undefined> =>
  maybeOne(db, sql`SELECT ${MEDIA} FROM media WHERE account_id = ${accountId} AND media_key = ${mediaKey}`);

/** Lists the files with these ids, of either origin, in no particular order. */
export const listMedia = (db: Db, { accountId, ids }: OfAccount & { ids: readonly number[] }): Promise<MediaRow[]> =>
  many(db, sql`SELECT ${MEDIA} FROM media WHERE account_id = ${accountId} AND id = ANY (${ids}::bigint[])`);

/** Raises the link version of an upload, which revokes all earlier links. */
export const updateLinkVersion = (db: Db, { accountId, id }: ById): Promise<MediaRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE media SET link_version = link_version + 1
      WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD' RETURNING ${MEDIA}`,
  );

const DELETED = columns({
  accountId: as<number>('account_id'),
  fileKey: as<string>('file_key'),
  thumbnailKey: as<string | null>('thumbnail_key'),
});
/** The keys of a deleted file, which has to be removed from the store. */
export type DeletedMedia = RowOf<typeof DELETED>;

export const deleteUpload = (db: Db, { accountId, id }: ById): Promise<DeletedMedia | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM media WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD' RETURNING ${DELETED}`,
  );

/** Deletes up to `limit` files that were received more than `days` days ago, of any account. */
export const deleteOldInbound = (db: Db, { days, limit }: { days: number; limit: number }): Promise<DeletedMedia[]> =>
  many(
    db,
    sql`DELETE FROM media
      WHERE origin = 'INBOUND' AND (account_id, id) IN
        (SELECT account_id, id FROM media
         WHERE origin = 'INBOUND' AND created_at < now() - make_interval(days => ${days})
         ORDER BY created_at LIMIT ${limit})
      RETURNING ${DELETED}`,
  );
