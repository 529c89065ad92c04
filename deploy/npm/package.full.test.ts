import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { createTestDatabase } from '../../test/support/database.ts';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);
const script = (name: string, ...args: string[]) => run(process.execPath, [join(ROOT, 'scripts', name), ...args]);

type Pack = { readonly filename: string; readonly files: readonly { readonly path: string }[] };

/** Packs the checkout as `npm pack` does, without the documentation, whose build takes long. */
async function pack(folder: string): Promise<Pack> {
  await script('build-console.ts');
  await script('build-program.ts');
  onTestFinished(() => script('build-program.ts', '--remove').then(() => undefined));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: ROOT, maxBuffer: 2 ** 26 });
  const [packed]: readonly Pack[] = Object.values(JSON.parse(stdout));
  if (packed === undefined) throw new Error(stdout);
  return packed;
}

/** Unpacks it as npm does, next to the packages of this checkout, and returns its command. */
async function install(folder: string, { filename }: Pack): Promise<string> {
  const packages = join(folder, 'node_modules');
  const own = join(packages, packageJson.name);
  await mkdir(own, { recursive: true });
  await run('tar', ['--extract', '--file', join(folder, filename), '--directory', own, '--strip-components=1']);
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(packages, name));
  const command = join(packages, '.bin', 'heliograph');
  await mkdir(join(packages, '.bin'));
  await symlink(`../${packageJson.name}/${packageJson.bin.heliograph}`, command);
  await chmod(join(own, packageJson.bin.heliograph), 0o755);
  return command;
}

test('the npm package has the program and its console, and its command serves from below node_modules', async () => {
  const folder = await temporaryFolder(`heliograph-test-${process.pid}-`);
  onTestFinished(() => rm(folder, { recursive: true, maxRetries: 10 }));
  const packed = await pack(folder);
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['program/main.js', 'web/dist/index.html', 'LICENSE', 'README.md']));
  expect(paths.filter((path) => /^(?:src|test|proofs|bench|web\/src)\/|\.ts$|\.pem$/.test(path))).toEqual([]);

  const command = await install(folder, packed);
  const options = { cwd: folder, env: { PATH: process.env['PATH'] } };
  expect((await run(command, ['--help'], options)).stdout).toContain('Usage: heliograph ');
  const refused = await run(command, ['no-such-command'], options).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 2 });

  await using database = await createTestDatabase();
  const port = await freePort();
  const child = spawn(command, ['serve'], {
    ...options,
    env: {
      ...options.env,
      DATABASE_URL: database.connectionString,
      SECRET_KEY: '5e'.repeat(32),
      SANDBOX: 'off',
      PORT: `${port}`,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGTERM'));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await until('readiness', async () => {
    if (child.exitCode !== null) throw new Error(errors);
    return (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined))?.status === 200;
  });
  const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html' } });
  expect(await page.text()).toContain('/assets/');
  // The data is where the command was called, not in the package.
  expect(existsSync(join(folder, 'data'))).toBe(true);
  child.kill('SIGTERM');
  expect((await ended)[0], errors).toBe(0);
});
