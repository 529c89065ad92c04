import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { exec, many, sql } from './db/query.ts';
import { cancelRemovals, fileRemoval, insertRemovals, type Storage } from './storage.ts';

const database = testDatabase();

beforeEach(() => exec(database.pool, sql`DELETE FROM job`));

const waiting = async (): Promise<string[]> => {
  const rows = await many<{ key: string }>(database.pool, sql`SELECT key FROM job ORDER BY key`);
  return rows.map(({ key }) => key);
};

const removeDueFiles = (storage: Pick<Storage, 'delete'>) => runJobs(database.pool, fileRemoval.using({ storage }));

function deleting(fail?: string) {
  const deleted: string[] = [];
  const storage = {
    async delete(key: string) {
      if (key === fail) throw new Error('the store is away');
      deleted.push(key);
    },
  };
  return { deleted, storage };
}

test('files that are due are deleted once; the others wait', async () => {
  const { pool } = database;
  await insertRemovals(pool, { accountId: 1, keys: ['media/a', 'media/b'], afterSeconds: 0 });
  await insertRemovals(pool, { accountId: 2, keys: ['media/c'], afterSeconds: 3600 });
  const { deleted, storage } = deleting();
  expect(await removeDueFiles(storage)).toBe(2);
  expect(await removeDueFiles(storage)).toBe(0);
  expect(deleted.toSorted()).toEqual(['media/a', 'media/b']);
  expect(await waiting()).toEqual(['media/c']);
});

test('a file whose removal is cancelled is not deleted', async () => {
  const { pool } = database;
  const files = { accountId: 1, keys: ['media/a', 'media/b'] };
  await insertRemovals(pool, { ...files, afterSeconds: 0 });
  await cancelRemovals(pool, files);
  const { deleted, storage } = deleting();
  await removeDueFiles(storage);
  expect(deleted).toEqual([]);
});

test('the removal of a deleted file, or of one of another account, cannot be cancelled', async () => {
  const { pool } = database;
  await insertRemovals(pool, { accountId: 1, keys: ['media/a'], afterSeconds: 0 });
  await expect(cancelRemovals(pool, { accountId: 2, keys: ['media/a'] })).rejects.toThrow('took too long');
  await removeDueFiles(deleting().storage);
  await expect(cancelRemovals(pool, { accountId: 1, keys: ['media/a'] })).rejects.toThrow('took too long');
});

test('the latest due time counts', async () => {
  const { pool } = database;
  await insertRemovals(pool, { accountId: 1, keys: ['media/a'], afterSeconds: 3600 });
  await insertRemovals(pool, { accountId: 1, keys: ['media/a'], afterSeconds: 0 });
  const { deleted, storage } = deleting();
  await removeDueFiles(storage);
  expect(deleted).toEqual(['media/a']);
});

test('if the store fails, the file is deleted later', async () => {
  const { pool } = database;
  await insertRemovals(pool, { accountId: 1, keys: ['media/a', 'media/b'], afterSeconds: 0 });
  await removeDueFiles(deleting('media/b').storage);
  expect(await waiting()).toEqual(['media/b']);
});
