import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeDataDir } from '../../test/support/data-dir.ts';
import { type OperatorResult, runOperatorCommand } from '../../test/support/operator.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-');
});
afterAll(async () => {
  for (const name of ['data', 'restored']) await removeDataDir(join(folder, name));
  await rm(folder, { recursive: true, maxRetries: 10 });
});

/** Runs a command on the built-in database in a folder of the test. */
const run = (dataDir: string, args: readonly string[], more: object = {}): Promise<OperatorResult> =>
  runOperatorCommand({ environment: { DATA_DIR: join(folder, dataDir), ...more } }, ...args);

test('a backup is created, restored elsewhere with sending paused, and pruned', async () => {
  const backup = join(folder, 'backups', 'new');
  expect(await run('data', ['migrate'])).toMatchObject({ code: 0 });
  const created = await run('data', ['backup', 'create', '--to', backup]);
  expect(created).toMatchObject({ code: 0, answer: { folder: backup, finishedAt: expect.stringMatching(/^20/) } });
  expect(await run('restored', ['backup', 'restore', '--from', backup])).toMatchObject({ code: 0 });
  const reason = `restored from the backup ${backup}`;
  expect(await run('restored', ['fence', 'show'])).toMatchObject({ answer: { state: 'paused', reason } });
  await mkdir(join(folder, 'backups', 'old'));
  const facts = { startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:01:00Z' };
  await writeFile(join(folder, 'backups', 'old', 'backup.json'), JSON.stringify(facts));
  await mkdir(join(folder, 'backups', 'something else'));
  const pruned = await run('data', ['backup', 'prune', '--in', join(folder, 'backups'), '--keep', '1']);
  expect(pruned).toMatchObject({ code: 0, answer: { deleted: ['old'] } });
  expect((await readdir(join(folder, 'backups'))).toSorted()).toEqual(['new', 'something else']);
});

test('a foreign database is left alone', async () => {
  const args = ['backup', 'create', '--to', join(folder, 'other')];
  const { code, stderr } = await run('data', args, { DATABASE_URL: 'postgres://a:b@127.0.0.1/c' });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^DATABASE_URL is set: back up your own PostgreSQL/)]);
});
