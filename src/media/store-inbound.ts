import { Readable } from 'node:stream';
import { fileTypeFromBuffer } from 'file-type';
import type { Pool } from 'pg';
import { tenant, tenantTransaction } from '../platform/db/tenant.ts';
import { AppError } from '../platform/errors.ts';
import { cancelRemovals } from '../platform/storage/removals.ts';
import { insertRemovals } from '../platform/storage/sql.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { newFileKey, newMediaKey, ORPHAN_SECONDS } from './add.ts';
import { insertMedia } from './sql.ts';

/** A file received with a message. */
export type InboundFile = {
  readonly accountId: number;
  readonly content: AsyncIterable<Uint8Array>;
  readonly maxBytes: number;
  /** The name given by the sender; may be empty. */
  readonly name: string;
};

/** The result of storing a received file. */
export type StoredInbound =
  | {
      readonly ok: true;
      readonly id: number;
      readonly mediaKey: string;
      readonly mimeType: string;
      readonly sizeBytes: number;
    }
  | { readonly ok: false; readonly reason: 'too_large' | 'empty' };

/** Enough bytes to detect most types. */
const HEAD_BYTES = 4100;

/**
 * Stores a file received with a message, unchanged. Since its sender is unknown, it is served with the precautions of
 * `sendFile` and displayed only if its type cannot contain scripts. The type is detected from its first bytes;
 * `application/octet-stream` if unknown. If the stream breaks, this rejects and nothing is stored.
 */
export async function storeInbound(
  { pool, storage }: { pool: Pool; storage: Storage },
  { accountId, content, maxBytes, name }: InboundFile,
): Promise<StoredInbound> {
  const source = bounded(content, maxBytes);
  const fileKey = newFileKey(accountId);
  try {
    const head = await readHead(source);
    if (head.length === 0) return { ok: false, reason: 'empty' };
    const mimeType = (await fileTypeFromBuffer(head))?.mime ?? 'application/octet-stream';
    await insertRemovals(tenant(pool, { accountId }), { accountId, keys: [fileKey], afterSeconds: ORPHAN_SECONDS });
    const sizeBytes = await storage.put(fileKey, Readable.from(joined(head, source)), { contentType: mimeType });
    return await addInbound(pool, { accountId, fileKey, mimeType, sizeBytes, name });
  } catch (error) {
    if (error instanceof AppError && error.code === 'too_large') return { ok: false, reason: 'too_large' };
    throw error;
  } finally {
    await source.return(undefined);
  }
}

type InboundMedia = {
  readonly accountId: number;
  readonly fileKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly name: string;
};

const addInbound = (pool: Pool, { accountId, fileKey, name, ...facts }: InboundMedia): Promise<StoredInbound> =>
  tenantTransaction(pool, { accountId }, async (tx) => {
    const { id, mediaKey } = await insertMedia(tx, {
      accountId,
      mediaKey: newMediaKey(),
      origin: 'INBOUND',
      fileKey,
      description: '',
      folderId: null,
      width: null,
      height: null,
      durationSeconds: null,
      thumbnailKey: null,
      thumbnailBytes: null,
      ...facts,
      name: name.replaceAll('\0', '').toWellFormed().slice(0, 200),
    });
    await cancelRemovals(tx, { accountId, keys: [fileKey] });
    return { ok: true, id, mediaKey, ...facts };
  });

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
