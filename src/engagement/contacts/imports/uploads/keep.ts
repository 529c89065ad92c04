import type { FileHandle } from 'node:fs/promises';
import type { Db } from '../../../../platform/db/query.ts';
import type { Actor } from '../../../../platform/lib/actor.ts';
import type { Inspected } from '../reading/convert.ts';
import { storeContent } from './content.ts';
import { deleteSurplusUploads, insertUpload, type UploadRow } from './sql.ts';

/** Number of files kept per account: people look at one at a time. */
const MAX_KEPT = 5;

type Received = Inspected & { readonly fileName: string; readonly file: FileHandle };

/**
 * Keeps a received file until it is imported; beyond five, the oldest of the account is deleted. Call it in a transaction.
 */
export async function keepUpload(
  tx: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  { fileName, file, format, encoding }: Received,
): Promise<UploadRow> {
  const { size: sizeBytes } = await file.stat();
  const row = await insertUpload(tx, { accountId, fileName, sizeBytes, format, encoding: encoding ?? null });
  await storeContent(tx, { accountId, uploadId: row.id, sizeBytes }, file);
  await deleteSurplusUploads(tx, { accountId, kept: MAX_KEPT });
  return row;
}
