import type { Db } from '../platform/db/query.ts';
import type { FieldError } from '../platform/errors.ts';
import { listMedia } from './sql.ts';

/** A file that a message names: where in the request, and of what types it may be. */
export type WantedFile = { readonly field: string; readonly id: number; readonly types?: RegExp };

/** What is wrong with the files that a message names; one of another account reads as one that there is not. */
export async function faultsOfFiles(
  db: Db,
  { accountId }: { readonly accountId: number },
  wanted: readonly WantedFile[],
): Promise<FieldError[]> {
  if (wanted.length === 0) return [];
  const rows = await listMedia(db, { accountId, ids: wanted.map(({ id }) => id) });
  const uploads = new Map(rows.flatMap((row) => (row.origin === 'UPLOAD' ? [[row.id, row.mimeType]] : [])));
  return wanted.flatMap(({ field, id, types }) => {
    const mimeType = uploads.get(id);
    if (mimeType === undefined) return [{ field, message: 'there is no such file' }];
    return types?.test(mimeType) === false
      ? [{ field, message: `a message of this type cannot hold ${mimeType}` }]
      : [];
  });
}
