import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { setUpSecretKey } from './secret-key.ts';

test('a key is made only where there is certainly none, because another one would make all stored secrets unreadable', async () => {
  const folder = await temporaryFolder('heliograph-key-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const known = { DATA_DIR: folder };
  const made = await setUpSecretKey(known);
  expect(made.settings).toEqual({ SECRET_KEY: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(await setUpSecretKey({ ...known, ...made.settings })).toMatchObject({ settings: made.settings });
  const path = join(folder, 'secret.key');
  // A link to itself, which nobody can follow: as where the folder belongs to another user.
  await symlink(path, path);
  await expect(setUpSecretKey(known)).rejects.toThrow('ELOOP');
  await rm(path);
  await writeFile(path, 'a key');
  expect(await setUpSecretKey(known)).toMatchObject({ settings: {}, detail: `kept in ${path}` });
});
