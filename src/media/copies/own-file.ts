import { buffer } from 'node:stream/consumers';
import type { Pool } from 'pg';
import type { OwnFile } from '../../carriers/own-file.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { MediaRow } from '../sql.ts';
import { deleteCopy, findCopy, insertCopy } from './sql.ts';

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
