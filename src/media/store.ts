import type { Pool } from 'pg';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { type Task, untilIdle } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import {
  as,
  columns,
  containsPattern,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  pageRows,
  type Paging,
  type RowOf,
  sql,
  textArray,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { existing } from '../core/errors.ts';
import { insertRemovals, type LinkSigner } from '../core/storage.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';

/**
 * Returns the placeholder that a stored message contains instead of the link to a file of the account
 * (`messages/load.ts`).
 */
export const mediaReference = (id: number): string => `media:${id}`;

/** The fields of the networks' JSON that contain links. */
const LINKS: ReadonlySet<string> = new Set(['link', 'fileUrl']);

type Json = { readonly [key: string]: unknown };

/** Replaces references by their URLs, only in fields for links: texts are unchanged, even if they look like one. */
export const resolveReferences = <T extends { readonly message: Json }>(
  content: T,
  urls: ReadonlyMap<string, string>,
): T => Object.assign({}, content, { message: fill(content.message, urls) });

function fill(message: Json, urls: ReadonlyMap<string, string>): Json {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name,
      LINKS.has(name) && typeof value === 'string' ? (urls.get(value) ?? value) : inside(value, urls),
    ]),
  );
}

function inside(value: unknown, urls: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => inside(item, urls));
  return typeof value === 'object' && value !== null ? fill({ ...value }, urls) : value;
}

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

/** Time for which the link to a file in an event works: longer than the event is repeated and replayed. */
const EVENT_LIFETIME_MS = 7 * DAY_MS;

/** Creates the function that makes the link to the file of an inbound message, also before the file was fetched. */
export const createInboundFileLinks =
  ({ links, publicUrl }: { links: LinkSigner; publicUrl: string }) =>
  ({
    accountId,
    messageId: id,
    at,
  }: {
    readonly accountId: number;
    readonly messageId: string;
    readonly at: Date;
  }): string => {
    const expiresAt = new Date(at.getTime() + EVENT_LIFETIME_MS);
    return `${publicUrl}${FILES_PATH}/${id}?${links.sign({ kind: 'media', accountId, id, version: 1 }, expiresAt)}`;
  };

/** Revokes all links to a file that were given out; audited. Errors: 404 for an unknown or foreign id. */
export async function revokeLinks(tx: Db, actor: Actor, { id }: { id: number }): Promise<MediaRow> {
  const media = await existing(updateLinkVersion(tx, { accountId: actor.accountId, id }));
  await recordAudit(tx, actor, { action: 'media.revoke-links', subject: `media:${id}` });
  return media;
}

const keysOf = ({ fileKey, thumbnailKey }: DeletedMedia): string[] =>
  thumbnailKey === null ? [fileKey] : [fileKey, thumbnailKey];

/**
 * Removes an upload; audited. Its links stop working when the transaction commits, and its files are deleted soon
 * after. Errors: 404 for an unknown or foreign id.
 */
export async function removeMedia(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const { accountId } = actor;
  const deleted = await existing(deleteUpload(tx, { accountId, id }));
  await insertRemovals(tx, { accountId, keys: keysOf(deleted), afterSeconds: 0 });
  await recordAudit(tx, actor, { action: 'media.delete', subject: `media:${id}` });
}

const FILES_PER_RUN = 500;

type OldFiles = { readonly before: Date /** Omitted: all accounts. */; readonly accountId?: number };

/** Removes files that were received with messages before an instant, and returns how many. */
export const removeOldInbound = (pool: Pool, old: OldFiles): Promise<number> =>
  transaction(pool, async (tx) => {
    const deleted = await deleteOldInbound(tx, { ...old, limit: FILES_PER_RUN });
    for (const [accountId, files] of Map.groupBy(deleted, (file) => file.accountId))
      await insertRemovals(tx, { accountId, keys: files.flatMap(keysOf), afterSeconds: 0 });
    return deleted.length;
  });

/** Deletes the files of inbound messages after RETENTION_DAYS. */
export const mediaTasks = ({ pool, config }: { readonly pool: Pool; readonly config: Config }): Task[] => [
  {
    name: 'old media',
    work: untilIdle(
      () => removeOldInbound(pool, { before: new Date(Date.now() - config.retentionDays * DAY_MS) }),
      HOUR_MS,
    ),
  },
];

/** Origin of a file: uploaded or received with a message. */
type Origin = 'UPLOAD' | 'INBOUND';

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
  fileKey: as<string>('file_key'),
  thumbnailKey: as<string | null>('thumbnail_key'),
  thumbnailBytes: as<number | null>('thumbnail_bytes'),
  linkVersion: as<number>('link_version'),
  createdAt: as<Date>('created_at'),
});
export type MediaRow = RowOf<typeof MEDIA>;

type NewMedia = Omit<MediaRow, 'id' | 'linkVersion' | 'createdAt'>;

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

/** Lists the files that were received with these messages. */
export const listInboundFiles = (
  db: Db,
  { accountId, mediaKeys }: { readonly accountId: number; readonly mediaKeys: readonly string[] },
): Promise<MediaRow[]> =>
  many(
    db,
    sql`SELECT ${MEDIA} FROM media WHERE account_id = ${accountId} AND media_key = ANY(${textArray(mediaKeys)}::text[])`,
  );

type OfAccount = { readonly accountId: number };
type ById = OfAccount & { readonly id: number };
type UploadFilter = Paging & {
  readonly folderId?: number | null;
  readonly mimeType?: string | null;
  readonly name?: string;
};

/** Reads a page of uploads, newest first; `name` is a part of the name, case-insensitive. */
export const listUploads = (
  db: Db,
  { accountId }: OfAccount,
  { folderId = null, mimeType = null, name = '', ...page }: UploadFilter,
) =>
  pageRows(
    db,
    {
      columns: MEDIA,
      from: sql`FROM media WHERE account_id = ${accountId} AND origin = 'UPLOAD'
        AND (${folderId}::bigint IS NULL OR folder_id = ${folderId})
        AND (${mimeType}::text IS NULL OR mime_type = ${mimeType}) AND fold_text(name) LIKE ${containsPattern(name)}`,
      order: sql`id DESC`,
    },
    page,
  );

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
const updateLinkVersion = (db: Db, { accountId, id }: ById): Promise<MediaRow | undefined> =>
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
type DeletedMedia = RowOf<typeof DELETED>;

export const deleteUpload = (db: Db, { accountId, id }: ById): Promise<DeletedMedia | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM media WHERE account_id = ${accountId} AND id = ${id} AND origin = 'UPLOAD' RETURNING ${DELETED}`,
  );

/** Deletes up to `limit` files that were received more than `days` days ago, of any account. */
const deleteOldInbound = (
  db: Db,
  { before, accountId, limit }: OldFiles & { limit: number },
): Promise<DeletedMedia[]> =>
  many(
    db,
    sql`DELETE FROM media
      WHERE origin = 'INBOUND' AND (account_id, id) IN
        (SELECT account_id, id FROM media
         WHERE origin = 'INBOUND' AND created_at < ${before}
           AND account_id = coalesce(${accountId ?? null}, account_id)
         ORDER BY created_at LIMIT ${limit})
      RETURNING ${DELETED}`,
  );

/** A file of an account, as it was uploaded to a network for messages of one sender. */
type Copy = {
  readonly accountId: number;
  readonly mediaId: number;
  /** The sender of the messages: a network accepts the copy only from it. */
  readonly sender: string;
};

/** Finds the network's id of a copy that it still has. */
export async function findCopy(
  db: Db,
  { accountId, mediaId, sender }: Copy,
): Promise<{ networkId: string } | undefined> {
  return maybeOne(
    db,
    sql`SELECT network_id AS "networkId" FROM media_copy
        WHERE account_id = ${accountId} AND media_id = ${mediaId} AND sender = ${sender} AND expires_at > now()`,
  );
}

/**
 * Inserts or replaces a copy, unless its file was deleted meanwhile, and deletes those of the account that have
 * expired.
 */
export async function insertCopy(
  db: Db,
  { accountId, mediaId, sender, networkId, days }: Copy & { readonly networkId: string; readonly days: number },
): Promise<void> {
  await exec(
    db,
    sql`WITH old AS (
          DELETE FROM media_copy WHERE account_id = ${accountId} AND expires_at <= now()
            AND (media_id, sender) <> (${mediaId}, ${sender}))
        INSERT INTO media_copy (account_id, media_id, sender, network_id, expires_at)
        SELECT account_id, id, ${sender}, ${networkId}, now() + make_interval(days => ${days})
        FROM media WHERE account_id = ${accountId} AND id = ${mediaId}
        ON CONFLICT (account_id, media_id, sender)
        DO UPDATE SET network_id = excluded.network_id, expires_at = excluded.expires_at`,
  );
}

/** Deletes a copy that the network no longer has. */
export async function deleteCopy(
  db: Db,
  { accountId, mediaId, sender, networkId }: Copy & { readonly networkId: string },
): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM media_copy
        WHERE account_id = ${accountId} AND media_id = ${mediaId} AND sender = ${sender} AND network_id = ${networkId}`,
  );
}
