import { createHash, randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Server, startS3 } from '../../test/support/files/s3.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { loadConfig } from './config.ts';
import { findStorageFault, openStorage } from './open-storage.ts';
import type { Storage } from './storage.ts';

const MIB = 1024 * 1024;
const TYPE = { contentType: 'text/plain' };

let folder: string;
let server: S3Server;
const stores: Record<'file' | 's3', Storage> = Object.create(null);

beforeAll(async () => {
  folder = await temporaryFolder('heliograph-storage-');
  server = await startS3();
  stores.file = await openStorage({ ...loadConfig({}), dataDir: folder });
  stores.s3 = await openStorage({ dataDir: folder, storage: server.settings });
});
afterAll(async () => {
  await Promise.all(Object.values(stores).map((store) => store.close()));
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function* chunks(count: number, bytes: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(bytes, i);
}

async function* broken(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(9 * MIB);
  throw new Error('the source broke');
}

describe.each(['file', 's3'] as const)('in a store of kind %s', (kind) => {
  const store = (): Storage => stores[kind];

  test('a stored file can be read, and is gone once it is deleted', async () => {
    expect(await store().put('media/1/a', Buffer.from('hello'), TYPE)).toBe(5);
    expect(await store().stat('media/1/a')).toEqual({ sizeBytes: 5 });
    expect(await store().exists('media/1/a')).toBe(true);
    expect((await buffer(await store().get('media/1/a'))).toString()).toBe('hello');
    await store().delete('media/1/a');
    await store().delete('media/1/a');
    expect(await store().exists('media/1/a')).toBe(false);
    expect(await store().stat('media/1/a')).toBeUndefined();
    await expect(store().get('media/1/a').then(buffer)).rejects.toThrow();
  });

  test('a later put replaces the earlier one', async () => {
    await store().put('media/1/b', Buffer.from('the first'), TYPE);
    await store().put('media/1/b', Buffer.from('second'), TYPE);
    expect((await buffer(await store().get('media/1/b'))).toString()).toBe('second');
  });

  test('an empty file exists', async () => {
    expect(await store().put('media/1/empty', Readable.from([]), TYPE)).toBe(0);
    expect(await store().stat('media/1/empty')).toEqual({ sizeBytes: 0 });
  });

  test('a stream of unknown length, longer than an upload part, is stored unchanged', async () => {
    const bytes = randomBytes(20 * MIB + 7);
    const pieces = Array.from({ length: 21 }, (_, i) => bytes.subarray(i * MIB, (i + 1) * MIB));
    expect(await store().put('exports/1/long', Readable.from(pieces), TYPE)).toBe(bytes.length);
    expect(digest(await buffer(await store().get('exports/1/long')))).toBe(digest(bytes));
  });

  test('a range includes both ends', async () => {
    await store().put('media/1/range', Readable.from(chunks(3, 10)), TYPE);
    const middle = await buffer(await store().get('media/1/range', { start: 9, end: 20 }));
    expect([...middle]).toEqual([0, ...Array<number>(10).fill(1), 2]);
  });

  test('a broken stream stores nothing, and an earlier file stays', async () => {
    await store().put('media/1/c', Buffer.from('before'), TYPE);
    await expect(store().put('media/1/c', Readable.from(broken()), TYPE)).rejects.toThrow('the source broke');
    await expect(store().put('media/1/d', Readable.from(broken()), TYPE)).rejects.toThrow('the source broke');
    expect((await buffer(await store().get('media/1/c'))).toString()).toBe('before');
    expect(await store().exists('media/1/d')).toBe(false);
  });

  test.each(['../secret', 'media/../../secret', '/etc/passwd', 'media//x', 'media', 'media/1/.hidden', 'media/a\0b'])(
    'the key %j is rejected',
    async (key) => {
      await expect((async () => store().put(key, Buffer.from('x'), TYPE))()).rejects.toThrow('not a valid key');
      await expect((async () => store().get(key))()).rejects.toThrow('not a valid key');
      await expect((async () => store().delete(key))()).rejects.toThrow('not a valid key');
    },
  );
});

test('other users of the machine cannot read the files, and no unfinished ones are left', async () => {
  await stores.file.put('media/2/a', Buffer.from('hello'), TYPE);
  await expect(stores.file.put('media/2/b', Readable.from(broken()), TYPE)).rejects.toThrow();
  expect((await stat(join(folder, 'files'))).mode & 0o077).toBe(0);
  expect(await readdir(join(folder, 'files/media/2'))).toEqual(['a']);
});

test('the unfinished file of a dead process is deleted with its file', async () => {
  const never = new Readable({ read: () => undefined });
  never.push('begun');
  const writing = stores.file.put('media/3/a', never, TYPE).catch(() => undefined);
  const left = join(folder, 'files/media/3');
  await until('the unfinished file', async () => (await readdir(left).catch(() => [])).length === 1);
  await stores.file.delete('media/3/a');
  expect(await readdir(left)).toEqual([]);
  never.destroy(new Error('over'));
  await writing;
});

test('a store that rejects the S3 credentials reports it', async () => {
  const credentials = { accessKeyId: 'NOBODY', secretAccessKey: 'S3RVER' };
  const refused = await openStorage({ dataDir: folder, storage: { ...server.settings, credentials } });
  await expect(refused.put('media/1/a', Buffer.from('x'), TYPE)).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: expect.stringContaining('correct S3_ACCESS_KEY_ID') },
  });
});

test.each(['file', 's3'] as const)(
  'a store of kind %s that works has no fault, and keeps no file of its check',
  async (kind) => {
    expect(await findStorageFault(stores[kind])).toBeUndefined();
    if (kind === 'file') expect(await readdir(join(folder, 'files/checks'))).toEqual([]);
  },
);

test.each([
  ['a bucket that does not exist', { bucket: 'nowhere' }, 'create it, or correct S3_BUCKET'],
  ['an unknown key', { credentials: { accessKeyId: 'NOBODY', secretAccessKey: 'x' } }, 'correct S3_ACCESS_KEY_ID'],
  ['a server that is away', { endpoint: 'http://127.0.0.1:9' }, 'ECONNREFUSED'],
])('the check of a store names %s', async (_, wrong, fault) => {
  const store = await openStorage({ dataDir: folder, storage: { ...server.settings, ...wrong } });
  expect(await findStorageFault(store)).toContain(fault);
  await store.close();
});
