import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Db } from '../../../../platform/db/query.ts';
import { insertPart, listParts, type UploadRow } from './sql.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const PART_BYTES = 1024 * 1024;

type Content = { readonly accountId: number; readonly uploadId: number; readonly sizeBytes: number };

/** Stores the content of a received file in pieces of 1 MiB, compressed. Call it in a transaction. */
export async function storeContent(
  tx: Db,
  { accountId, uploadId, sizeBytes }: Content,
  file: FileHandle,
): Promise<void> {
  const piece = Buffer.alloc(Math.min(PART_BYTES, sizeBytes));
  for (let n = 0; n * PART_BYTES < sizeBytes; n++) {
    const length = Math.min(PART_BYTES, sizeBytes - n * PART_BYTES);
    const { bytesRead } = await file.read(piece, 0, length, n * PART_BYTES);
    if (bytesRead < length) throw new Error('the received file is incomplete');
    await insertPart(tx, { accountId, uploadId, n, octets: await compress(piece.subarray(0, length)) });
  }
}

/**
 * Writes the content of a file into an open file, piece by piece; `parts` is the number of pieces, by default all. A
 * table that is only previewed needs no more than the first, except for XLSX, whose table of contents is at the end.
 */
export async function loadContent(
  db: Db,
  { accountId, id: uploadId }: Pick<UploadRow, 'accountId' | 'id'>,
  file: FileHandle,
  parts = Infinity,
): Promise<void> {
  for (let n = 0; n < parts; n++) {
    const [part] = await listParts(db, { accountId, uploadId, from: n, limit: 1 });
    if (part === undefined) return;
    const octets = await decompress(part.octets);
    await file.write(octets, 0, octets.length, n * PART_BYTES);
  }
}
