import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileTypeFromBuffer } from 'file-type';
import type { Pool } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { OwnFile } from '../channels/settings.ts';
import type { Actor } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError, type FieldError } from '../core/errors.ts';
import { cancelRemovals, insertRemovals, type Storage } from '../core/storage.ts';
import type { Inspected } from './decoder.ts';
import {
  deleteCopy,
  findCopy,
  findUpload,
  insertCopy,
  insertMedia,
  listMedia,
  type MediaLinks,
  type MediaRow,
} from './store.ts';

/** A stored file without a row is deleted after this time. */
const ORPHAN_SECONDS = 3600;

/** Returns a random key that identifies a file in links and paths. */
const newMediaKey = (): string => randomBytes(16).toString('base64url');
const newFileKey = (accountId: number): string => `media/${accountId}/${randomUUID()}`;

/** A file that is in the store but has no row yet. */
type StoredFile = Pick<
  MediaRow,
  'mimeType' | 'sizeBytes' | 'width' | 'height' | 'durationSeconds' | 'fileKey' | 'thumbnailKey' | 'thumbnailBytes'
>;

/** Writes an upload into the store. Unless `addMedia` follows, it is deleted after an hour. */
export async function storeUpload(
  { db, storage }: { db: Db; storage: Storage },
  { accountId }: Pick<Actor, 'accountId'>,
  { bytes, thumbnail, ...facts }: Inspected,
): Promise<StoredFile> {
  const fileKey = newFileKey(accountId);
  const thumbnailKey = thumbnail && newFileKey(accountId);
  const keys = [fileKey, ...(thumbnailKey === null ? [] : [thumbnailKey])];
  await insertRemovals(db, { accountId, keys, afterSeconds: ORPHAN_SECONDS });
  await storage.put(fileKey, bytes, { contentType: facts.mimeType });
  if (thumbnail && thumbnailKey !== null) await storage.put(thumbnailKey, thumbnail, { contentType: 'image/jpeg' });
  const thumbnailBytes = thumbnail && thumbnail.length;
  return { ...facts, sizeBytes: bytes.length, fileKey, thumbnailKey, thumbnailBytes };
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

/** A media file as carriers and conversations need it; `url` needs no credentials and is valid for 24 to 25 hours. */
type MediaToSend = Pick<MediaRow, 'id' | 'name' | 'mimeType' | 'sizeBytes' | 'width' | 'height' | 'durationSeconds'> & {
  readonly url: string;
  readonly thumbnailUrl: string | null;
};

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

/** A file received with a message. */
type InboundFile = {
  readonly accountId: number;
  readonly content: AsyncIterable<Uint8Array>;
  readonly maxBytes: number;
};

/** The result of storing a received file. */
type StoredInbound =
  | ({ readonly ok: true } & ReceivedFile)
  | { readonly ok: false; readonly reason: 'too_large' | 'empty' };

/** A received file that is in the store but may have no row yet. */
export type ReceivedFile = Pick<MediaRow, 'fileKey' | 'mimeType' | 'sizeBytes'>;

/** Enough bytes to detect most types. */
const HEAD_BYTES = 4100;

/**
 * Writes a file received with a message into the store, unchanged. Unless `addInbound` follows, it is deleted after an
 * hour. Since its sender is unknown, it is served with the precautions of `sendFile` and displayed only if its type
 * cannot contain scripts. The type is detected from its first bytes; `application/octet-stream` if unknown. If the stream
 * breaks, this rejects and nothing is stored.
 */
export async function storeInbound(
  { pool, storage }: { pool: Pool; storage: Storage },
  { accountId, content, maxBytes }: InboundFile,
): Promise<StoredInbound> {
  const source = bounded(content, maxBytes);
  const fileKey = newFileKey(accountId);
  try {
    const head = await readHead(source);
    if (head.length === 0) return { ok: false, reason: 'empty' };
    const mimeType = (await fileTypeFromBuffer(head))?.mime ?? 'application/octet-stream';
    await insertRemovals(tenant(pool, { accountId }), { accountId, keys: [fileKey], afterSeconds: ORPHAN_SECONDS });
    const sizeBytes = await storage.put(fileKey, Readable.from(joined(head, source)), { contentType: mimeType });
    return { ok: true, fileKey, mimeType, sizeBytes };
  } catch (error) {
    if (error instanceof AppError && error.code === 'too_large') return { ok: false, reason: 'too_large' };
    throw error;
  } finally {
    await source.return(undefined);
  }
}

type InboundMedia = {
  readonly accountId: number;
  /** The name under which its URL has it. */
  readonly mediaKey: string;
  /** The name given by the sender; may be empty. */
  readonly name: string;
  readonly file: ReceivedFile;
};

/** Inserts the row of a file that `storeInbound` wrote. Call it in a transaction. */
export async function addInbound(
  tx: Db,
  { accountId, mediaKey, name, file: { fileKey, mimeType, sizeBytes } }: InboundMedia,
): Promise<{ readonly id: number }> {
  const { id } = await insertMedia(tx, {
    accountId,
    mediaKey,
    origin: 'INBOUND',
    fileKey,
    mimeType,
    sizeBytes,
    description: '',
    folderId: null,
    width: null,
    height: null,
    durationSeconds: null,
    thumbnailKey: null,
    thumbnailBytes: null,
    name: name.replaceAll('\0', '').toWellFormed().slice(0, 200),
  });
  await cancelRemovals(tx, { accountId, keys: [fileKey] });
  return { id };
}

async function* bounded(content: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, undefined> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AppError('too_large');
    yield chunk;
  }
}

/** Reads the first bytes of the source, which then continues after them. */
async function readHead(source: AsyncGenerator<Uint8Array, undefined>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < HEAD_BYTES) {
    const { value, done } = await source.next();
    if (done) break;
    chunks.push(value);
    bytes += value.length;
  }
  return Buffer.concat(chunks);
}

async function* joined(head: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}

type Deps = { readonly pool: Pool; readonly storage: Storage };

/**
 * Makes the data that a carrier needs to upload a file of an account, and to use the upload again for later messages.
 */
export function toOwnFile(
  { pool, storage }: Deps,
  { accountId, id: mediaId, fileKey, mimeType, name }: MediaRow,
): OwnFile {
  const of = { accountId, mediaId };
  return {
    key: `${accountId}/${mediaId}`,
    mimeType,
    name,
    read: async () => buffer(await storage.get(fileKey)),
    findCopy: async (sender) => (await findCopy(pool, { ...of, sender }))?.networkId ?? null,
    saveCopy: (copy) => insertCopy(pool, { ...of, ...copy }),
    forgetCopy: (copy) => deleteCopy(pool, { ...of, ...copy }),
  };
}
