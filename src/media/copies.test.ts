import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { deleteCopy, deleteUpload, findCopy, insertCopy, insertMedia } from './store.ts';

const { pool } = testDatabase();

async function uploaded() {
  const { accountId } = await createAccount(pool, { name: `A ${randomUUID()}`, plan: 'unlimited' });
  const file = { name: 'a.png', description: '', folderId: null, mimeType: 'image/png', sizeBytes: 9 };
  const shown = { width: 1, height: 1, durationSeconds: null, thumbnailKey: null, thumbnailBytes: null };
  const stored = { accountId, mediaKey: randomUUID(), origin: 'UPLOAD', fileKey: `media/${accountId}/1` } as const;
  const { id: mediaId } = await insertMedia(pool, { ...stored, ...file, ...shown });
  return { accountId, mediaId, sender: '106' };
}

const stored = (accountId: number) =>
  many(pool, sql`SELECT network_id FROM media_copy WHERE account_id = ${accountId}`);

test('a copy is found for its sender until it expires, and replaced by a newer one', async () => {
  const copy = await uploaded();
  expect(await findCopy(pool, copy)).toBeUndefined();
  await insertCopy(pool, { ...copy, networkId: '1', days: 25 });
  expect(await findCopy(pool, copy)).toEqual({ networkId: '1' });
  expect(await findCopy(pool, { ...copy, sender: '107' })).toBeUndefined();
  await exec(pool, sql`UPDATE media_copy SET expires_at = now() WHERE account_id = ${copy.accountId}`);
  expect(await findCopy(pool, copy)).toBeUndefined();
  await insertCopy(pool, { ...copy, networkId: '2', days: 25 });
  expect(await findCopy(pool, copy)).toEqual({ networkId: '2' });
});

test('expired copies are deleted when another one is saved', async () => {
  const copy = await uploaded();
  await insertCopy(pool, { ...copy, networkId: 'old', days: 0 });
  await insertCopy(pool, { ...copy, sender: '107', networkId: 'new', days: 25 });
  expect(await stored(copy.accountId)).toEqual([{ network_id: 'new' }]);
});

test('a copy that was not accepted is deleted, but not the one that has replaced it', async () => {
  const copy = await uploaded();
  await insertCopy(pool, { ...copy, networkId: 'new', days: 25 });
  await deleteCopy(pool, { ...copy, networkId: 'old' });
  expect(await findCopy(pool, copy)).toEqual({ networkId: 'new' });
  await deleteCopy(pool, { ...copy, networkId: 'new' });
  expect(await findCopy(pool, copy)).toBeUndefined();
});

test('the copies of a file go with it, and none is saved for a file that is gone', async () => {
  const copy = await uploaded();
  await insertCopy(pool, { ...copy, networkId: '1', days: 25 });
  await deleteUpload(pool, { accountId: copy.accountId, id: copy.mediaId });
  await insertCopy(pool, { ...copy, networkId: '2', days: 25 });
  expect(await stored(copy.accountId)).toEqual([]);
});
