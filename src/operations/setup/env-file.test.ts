import { chmod, mkdir, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { readEnvFile, withSettings, writeEnvFile } from './env-file.ts';

test('whatever a value has, it is read as it was written, after what the file had before', async () => {
  const folder = await temporaryFolder('heliograph-env-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'some.env');
  expect(await readEnvFile(path)).toMatchObject({ text: '', settings: {} });
  await writeFile(path, '# ours\nPORT=8080');
  await chmod(path, 0o644);
  const odd = {
    A: `it's "quoted" $HOME \\ \`x\``,
    B: 'two  words ',
    C: 'postgres://u:p%40@db:5432/x?a=b',
    D: '"',
    E: '',
  };
  const { text } = await readEnvFile(path);
  await writeEnvFile(path, withSettings(text, odd));
  const after = await readEnvFile(path);
  expect(after.settings).toEqual({ PORT: '8080', ...odd });
  expect(after.text.startsWith('# ours\nPORT=8080\n')).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o640);
});

test('a symbolic link stays one, and what it leads to is written', async () => {
  const folder = await temporaryFolder('heliograph-env-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const [path, target] = [join(folder, 'link.env'), join(folder, 'target.env')];
  await writeFile(target, '# managed\r\nPORT=8080\r\n');
  await symlink('target.env', path);
  const { text } = await readEnvFile(path);
  await writeEnvFile(path, withSettings(text, { SANDBOX: 'off' }));
  expect(await readlink(path)).toBe('target.env');
  expect((await readEnvFile(target)).settings).toEqual({ PORT: '8080', SANDBOX: 'off' });
});

test('a file that cannot be written is refused before anything is asked, and a failed write leaves no secrets behind', async () => {
  const folder = await temporaryFolder('heliograph-env-');
  onTestFinished(() => rm(folder, { recursive: true }));
  await expect(readEnvFile(join(folder, 'none', 'some.env'))).rejects.toThrow(/cannot be written \(ENOENT\)/);
  const path = join(folder, 'some.env');
  await mkdir(path);
  await expect(readEnvFile(path)).rejects.toThrow(/cannot be read \(EISDIR\)/);
  await expect(writeEnvFile(path, 'SECRET_KEY=1\n')).rejects.toThrow(/--settings-file: .*cannot be written/);
  expect(await readdir(folder)).toEqual(['some.env']);
});
