import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

const WRAPPER = fileURLToPath(new URL('heliograph', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOBODY = 'postgres://nobody:secret@127.0.0.1:1/installed';

type Result = { readonly code: number; readonly stdout: string; readonly stderr: string };

const run = (args: readonly string[], env: Record<string, string>): Promise<Result> =>
  new Promise((resolve) => {
    execFile('sh', [WRAPPER, ...args], { env: { PATH: process.env['PATH'], ...env } }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });

test('a command of an installed service has the settings of its file, and its arguments as they were given', async () => {
  const file = join(await temporaryFolder('heliograph-wrapper-'), 'heliograph.env');
  await writeFile(file, `DATABASE_URL=${NOBODY}\n`);
  const env = { HELIOGRAPH_HOME: ROOT, HELIOGRAPH_ENV_FILE: file, HELIOGRAPH_USER: 'no-such-user' };
  const { code, stdout, stderr } = await run(['account', 'create', '--name', 'Two  words'], env);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Database: installed at 127\.0\.0\.1:1\nNothing responds at the address in DATABASE_URL/);
  expect((await run(['account', 'create', '--name'], env)).stderr).toContain("option '--name <name>' argument missing");
});

test('without the package of Node it uses the one of the machine, as in the container', async () => {
  const home = await temporaryFolder('heliograph-home-');
  await mkdir(join(home, 'src'), { recursive: true });
  await writeFile(join(home, 'src', 'main.ts'), 'console.log(JSON.stringify(process.argv.slice(2)));');
  const bin = join(home, 'bin');
  await mkdir(bin);
  await symlink(process.execPath, join(bin, 'node'));
  const { code, stdout } = await run(['doctor', '--json', 'a b'], {
    PATH: `${bin}:/usr/bin:/bin`,
    HELIOGRAPH_HOME: home,
    HELIOGRAPH_ENV_FILE: '',
    HELIOGRAPH_USER: 'no-such-user',
  });
  expect([code, JSON.parse(stdout)]).toEqual([0, ['doctor', '--json', 'a b']]);
});

/** Connection by network address: other users may not enter the folder of the socket. */
const connectionString = testDatabase().connectionString.replace(/\?.*/, '');
const OTHER = 'nobody';
/** True if this is root, and another user may read this folder. */
const canBeOther = spawnSync('runuser', ['--user', OTHER, '--', 'test', '-r', WRAPPER]).status === 0;
const idOf = (flag: string): number => Number(execFileSync('id', [flag, OTHER], { encoding: 'utf8' }));

test.runIf(canBeOther)('setup by root writes the settings as the user of the service, for its group', async () => {
  const folder = await temporaryFolder('heliograph-settings-');
  const [file, data] = [join(folder, 'etc', 'heliograph.env'), join(folder, 'data')];
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'etc'), { mode: 0o750 });
  await mkdir(data);
  await writeFile(file, 'SANDBOX=off\n', { mode: 0o640 });
  await chown(data, idOf('--user'), idOf('--group'));
  for (const path of [join(folder, 'etc'), file]) await chown(path, 0, idOf('--group'));
  const env = { HELIOGRAPH_HOME: ROOT, HELIOGRAPH_ENV_FILE: file, HELIOGRAPH_USER: OTHER };
  const setup = () => run(['setup', '--yes', '--data-dir', data, '--database-url', connectionString], env);
  expect((await setup()).stderr).toContain(
    `--settings-file: ${file} cannot be written (EACCES). User id ${idOf('--user')}`,
  );
  await chmod(join(folder, 'etc'), 0o770);
  const { stdout, stderr } = await setup();
  expect(stdout, stderr).toContain(`The settings are in ${file}.`);
  expect(await readFile(file, 'utf8')).toContain(`SANDBOX=off\nDATA_DIR=${data}\nDATABASE_URL=${connectionString}\n`);
  const { gid, mode } = await stat(file);
  expect([gid, mode & 0o777]).toEqual([idOf('--group'), 0o640]);
});
