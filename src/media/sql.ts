import { containsPattern } from '../platform/db/like.ts';
import { type Db, many, maybeOne, one, sql } from '../platform/db/query.ts';

export type Origin = 'UPLOAD' | 'INBOUND';

export type MediaRow = {
  accountId: number;
  id: number;
  /** In links and paths. */
  mediaKey: string;
  origin: Origin;
  name: string;
  description: string;
  folderId: number | null;
  mimeType: string;
  sizeBytes: number;
  width: number | null;
  height: number | null;
  durationSeconds: number | null;
  /** In the store. */
  fileKey: string;
  thumbnailKey: string | null;
  thumbnailBytes: number | null;
  linkVersion: number;
  createdAt: Date;
};

const COLUMNS = sql`account_id AS "accountId", id, media_key AS "mediaKey", origin, name, description,
  folder_id AS "folderId", mime_type AS "mimeType", size_bytes AS "sizeBytes", width, height,
  duration_seconds AS "durationSeconds", file_key AS "fileKey", thumbnail_key AS "thumbnailKey",
  thumbnail_bytes AS "thumbnailBytes", link_version AS "linkVersion", created_at AS "createdAt"`;

export type NewMedia = Omit<MediaRow, 'id' | 'linkVersion' | 'createdAt'>;

export const insertMedia = (db: Db, media: NewMedia): Promise<MediaRow> =>
  one(
    db,
    sql`INSERT INTO media (account_id, media_key, origin, name, description, folder_id, mime_type, size_bytes, width,
        height, duration_seconds, file_key, thumbnail_key, thumbnail_bytes)
      VALUES (${media.accountId}, ${media.mediaKey}, ${media.origin}, ${media.name}, ${media.description},
        ${media.folderId}, ${media.mimeType}, ${media.sizeBytes}, ${media.width}, ${media.height},
        ${media.durationSeconds}, ${media.fileKey}, ${media.thumbnailKey}, ${media.thumbnailBytes})
      RETURNING ${COLUMNS}`,
  );

type OfAccount = { readonly accountId: number };
type ById = OfAccount & { readonly id: number };
type Filter = OfAccount & {
  readonly folderId: number | null;
  readonly mimeType: string | null;
  /** Part of it, in any case; '' lets everything pass. */
  readonly name: string;
};

const matches = ({ accountId, folderId, mimeType, name }: Filter) =>
  sql`account_id = ${accountId} AND origin = 'UPLOAD'
    AND (${folderId}::bigint IS NULL OR folder_id = ${folderId})
    AND (${mimeType}::text IS NULL OR mime_type = ${mimeType})
    AND lower(name) LIKE ${containsPattern(name)}`;

/** What was uploaded, the newest first. */
export const listUploads = (db: Db, input: Filter & { limit: number; offset: number }): Promise<MediaRow[]> =>
  many(
    db,
    sql`SELECT ${COLUMNS} FROM media WHERE ${matches(input)}
      ORDER BY id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countUploads(db: Db, filter: Filter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM media WHERE ${matches(filter)}`);
  return row.total;
}

export const findUpload = (db: Db, { accountId, id }: ById): Promise<MediaRow | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM media WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD'`);

/** Of either origin. */
export const findByMediaKey = (
  db: Db,
  { accountId, mediaKey }: OfAccount & { mediaKey: string },
): Promise<MediaRow | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM media WHERE account_id = ${accountId} AND media_key = ${mediaKey}`);

/** Of either origin; in no order. */
export const listMedia = (db: Db, { accountId, ids }: OfAccount & { ids: readonly number[] }): Promise<MediaRow[]> =>
  many(db, sql`SELECT ${COLUMNS} FROM media WHERE account_id = ${accountId} AND id = ANY (${ids}::bigint[])`);

/** Ends the links that were given out. */
export const updateLinkVersion = (db: Db, { accountId, id }: ById): Promise<MediaRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE media SET link_version = link_version + 1
      WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD' RETURNING ${COLUMNS}`,
  );

export type DeletedMedia = Pick<MediaRow, 'accountId' | 'fileKey' | 'thumbnailKey'>;
const DELETED = sql`account_id AS "accountId", file_key AS "fileKey", thumbnail_key AS "thumbnailKey"`;

export const deleteUpload = (db: Db, { accountId, id }: ById): Promise<DeletedMedia | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM media WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD' RETURNING ${DELETED}`,
  );

/** What came in more than so many days ago, of any account. */
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
