import { rm } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createLinkSigner, createLocalStorage, fileRemoval, type Storage } from '../core/storage.ts';
import { DAY_MS } from '../core/time.ts';
import { createAccount } from '../operate/account-commands.ts';
import type { Inspected } from './decoder.ts';
import { addInbound, addMedia, listMediaLinks, mediaForSend, storeInbound, storeUpload } from './media.ts';
import { createMediaLinks, findByMediaKey, removeOldInbound } from './store.ts';

const { pool } = testDatabase();

const NOW = new Date('2026-09-01T10:20:00Z');
const signer = createLinkSigner(createSecretKey(Buffer.alloc(32, 1)));
const links = createMediaLinks({ links: signer, publicUrl: 'https://media.example.com' });

let folder: string;
let storage: Storage;
let accountId: number;
let otherAccountId: number;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-media-');
  storage = createLocalStorage(folder);
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
  ({ accountId: otherAccountId } = await createAccount(pool, { name: 'Other', plan: 'unlimited' }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const INSPECTED: Inspected = {
  mimeType: 'image/png',
  bytes: Buffer.from('a picture'),
  width: 4,
  height: 2,
  durationSeconds: null,
  thumbnail: Buffer.from('a small one'),
};
const NAMED = { name: 'A', description: '', folderId: null };

async function add(): Promise<{ id: number; mediaKey: string; fileKey: string }> {
  const stored = await storeUpload({ db: pool, storage }, { accountId }, INSPECTED);
  return addMedia(pool, operatorAuthor(accountId), { ...NAMED, stored });
}

async function* pieces(...texts: readonly (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
async function inbound(content: AsyncIterable<Uint8Array>, maxBytes = 1000) {
  const stored = await storeInbound({ pool, storage }, { accountId, content, maxBytes });
  if (!stored.ok) return stored;
  const mediaKey = newId();
  const { id } = await addInbound(pool, { accountId, mediaKey, name: 'photo\0', file: stored });
  return { ...stored, id, mediaKey };
}

test('a file to send has a URL for its account only, the same for an hour and valid for a day', async () => {
  const { id } = await add();
  const sent = await mediaForSend(pool, links, { accountId, id, now: NOW });
  expect(sent).toMatchObject({ id, mimeType: 'image/png', sizeBytes: 9, width: 4, height: 2, name: 'A' });
  const later = await mediaForSend(pool, links, { accountId, id, now: new Date('2026-09-01T10:59:59Z') });
  expect(later).toEqual(sent);
  const { pathname, searchParams } = new URL(sent?.url ?? '');
  const request = {
    kind: 'media',
    id: pathname.split('/').at(-1) ?? '',
    method: 'GET',
    query: Object.fromEntries(searchParams),
  } as const;
  expect(signer.verify(request, new Date('2026-09-02T10:59:59Z'))).toEqual({ ok: true, accountId, version: 1 });
  expect(signer.verify(request, new Date('2026-09-02T11:00:00Z'))).toMatchObject({ reason: 'expired' });
  expect(await mediaForSend(pool, links, { accountId: otherAccountId, id, now: NOW })).toBeUndefined();
});

test('a file that was never added is deleted, and one that was added stays', async () => {
  const forgotten = await storeUpload({ db: pool, storage }, { accountId }, INSPECTED);
  const added = await add();
  await exec(pool, sql`UPDATE job SET run_at = now()`);
  await runJobs(pool, fileRemoval.using({ storage }));
  expect(await storage.exists(forgotten.fileKey)).toBe(false);
  expect(await storage.exists(forgotten.thumbnailKey ?? '')).toBe(false);
  expect(await storage.exists(added.fileKey)).toBe(true);
});

test('a received file is stored unchanged, with the type of its content', async () => {
  const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from('-JFIF and more')]);
  const stored = await inbound(pieces(jpeg.subarray(0, 3), jpeg.subarray(3)));
  if (!stored.ok) throw new Error(stored.reason);
  expect(stored).toMatchObject({ mimeType: 'image/jpeg', sizeBytes: jpeg.length });
  const row = await findByMediaKey(pool, { accountId, mediaKey: stored.mediaKey });
  expect(row).toMatchObject({ origin: 'INBOUND', name: 'photo' });
  expect((await buffer(await storage.get(row?.fileKey ?? ''))).equals(jpeg)).toBe(true);
  const found = await listMediaLinks(pool, links, { accountId, ids: [stored.id, 999_999], now: NOW });
  expect([...found.keys()]).toEqual([stored.id]);
  expect((await listMediaLinks(pool, links, { accountId: otherAccountId, ids: [stored.id], now: NOW })).size).toBe(0);
  expect(await mediaForSend(pool, links, { accountId, id: stored.id, now: NOW })).toBeUndefined();
});

test('a received file of an unknown type is application/octet-stream', async () => {
  expect(await inbound(pieces('<html><script>alert(1)</script>'))).toMatchObject({
    mimeType: 'application/octet-stream',
  });
});

test('a received file that is empty, too large or truncated is not stored', async () => {
  const count = async () => (await one<{ n: number }>(pool, sql`SELECT count(*) AS n FROM media`)).n;
  const before = await count();
  expect(await inbound(pieces())).toEqual({ ok: false, reason: 'empty' });
  expect(await inbound(pieces('x'.repeat(600), 'x'.repeat(600)))).toEqual({ ok: false, reason: 'too_large' });
  expect(await inbound(pieces('x'.repeat(5000), 'x'.repeat(6000)), 10_000)).toEqual({ ok: false, reason: 'too_large' });
  async function* broken() {
    yield Buffer.alloc(9000, 'x');
    throw new Error('cut short');
  }
  await expect(inbound(broken(), 100_000)).rejects.toThrow('cut short');
  expect(await count()).toBe(before);
});

test('received files are deleted after the retention time, and uploads stay', async () => {
  const old = await inbound(pieces('an old one'));
  const recent = await inbound(pieces('a new one'));
  const upload = await add();
  if (!old.ok || !recent.ok) throw new Error('not stored');
  const aged = [old.id, upload.id];
  await exec(pool, sql`UPDATE media SET created_at = now() - interval '31 days' WHERE id = ANY (${aged}::bigint[])`);
  expect(await removeOldInbound(pool, { before: new Date(Date.now() - 30 * DAY_MS) })).toBe(1);
  const left = await many<{ id: number }>(pool, sql`SELECT id FROM media`);
  expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining([recent.id, upload.id]));
  expect(left.map(({ id }) => id)).not.toContain(old.id);
  const due = await one<{ n: number }>(pool, sql`SELECT count(*) AS n FROM job WHERE run_at <= now()`);
  expect(due.n).toBe(1);
});
