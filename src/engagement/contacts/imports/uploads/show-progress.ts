import type { Db } from '../../../../platform/db/query.ts';
import type { OnProgress } from '../reading/convert.ts';
import { updateProgress, type UploadRow } from './sql.ts';

/**
 * Runs work that reads a stored file, and stores its progress for clients that poll meanwhile. If progress cannot be
 * stored, it is only not shown: the work continues.
 */
export async function showProgress<T>(
  db: Db,
  { accountId, id: uploadId }: Pick<UploadRow, 'accountId' | 'id'>,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const state: { writing: Promise<unknown> | null } = { writing: null };
  const write = (progress: number | null): Promise<unknown> =>
    updateProgress(db, { accountId, uploadId, progress }).catch(() => undefined);
  await write(0);
  try {
    return await work((share) => {
      state.writing ??= write(share).finally(() => {
        state.writing = null;
      });
    });
  } finally {
    await state.writing;
    await write(null);
  }
}
