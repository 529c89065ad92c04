import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeDataDir } from '../../../test/support/data-dir.ts';
import { type OperatorResult, runOperatorCommand } from '../../../test/support/operator.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';

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
  runOperatorCommand(
    { environment: { DATA_DIR: join(folder, dataDir), WAL_ARCHIVE: join(folder, 'wal'), ...more } },
    ...args,
  );

test('a backup is created, restored elsewhere with sending paused, and the archive is pruned', async () => {
  const backup = join(folder, 'backup');
  expect(await run('data', ['migrate'])).toMatchObject({ code: 0 });
  const created = await run('data', ['backup', 'create', '--to', backup]);
  expect(created).toMatchObject({ code: 0, answer: { folder: backup, finishedAt: expect.stringMatching(/^20/) } });
  expect(await run('restored', ['backup', 'restore', '--from', backup])).toMatchObject({ code: 0 });
  const reason = `restored from the backup ${backup}`;
  expect(await run('restored', ['fence', 'show'])).toMatchObject({ answer: { state: 'paused', reason } });
  const pruned = await run('data', ['backup', 'prune', '--oldest', backup]);
  expect(pruned).toMatchObject({ code: 0, answer: { deleted: expect.any(Number) } });
  const doctor = await run('data', ['doctor']);
  expect(doctor.answer).toContainEqual(expect.objectContaining({ name: 'archive', ok: true }));
});

test('a database of somebody else is left alone', async () => {
  const args = ['backup', 'create', '--to', join(folder, 'other')];
  const { code, stderr } = await run('data', args, { DATABASE_URL: 'postgres://a:b@127.0.0.1/c', WAL_ARCHIVE: '' });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^DATABASE_URL is set: back up your own PostgreSQL/)]);
});

test('a time without a zone is refused', async () => {
  const args = ['backup', 'restore', '--from', folder, '--to-time', '2027-01-31 12:00'];
  const { code, stderr } = await run('restored', args);
  expect([code, stderr]).toEqual([2, expect.stringContaining('must be a time with its zone')]);
});
