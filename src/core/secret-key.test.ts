import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSecretKey } from './secrets.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secret-key-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

test('the first start creates a key that every later start finds, also with concurrent starts', async () => {
  const keys = await Promise.all(Array.from({ length: 10 }, () => loadSecretKey({ dataDir, secretKey: undefined })));
  const later = await loadSecretKey({ dataDir, secretKey: undefined });
  for (const key of keys) expect(key.bytes).toEqual(later.bytes);
});

test('the key file is for its owner only', async () => {
  await loadSecretKey({ dataDir, secretKey: undefined });
  expect((await stat(join(dataDir, 'secret.key'))).mode & 0o777).toBe(0o600);
});

test('SECRET_KEY is used, and nothing is written', async () => {
  const secretKey = Buffer.alloc(32, 7);
  expect((await loadSecretKey({ dataDir, secretKey })).bytes).toEqual(secretKey);
  await expect(stat(join(dataDir, 'secret.key'))).rejects.toThrow('ENOENT');
});

test('a damaged key file is rejected, and never replaced', async () => {
  await writeFile(join(dataDir, 'secret.key'), 'short');
  await expect(loadSecretKey({ dataDir, secretKey: undefined })).rejects.toThrow(/secret\.key is damaged/);
});
