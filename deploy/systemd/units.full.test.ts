import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { configOf, isCommand } from '../../test/support/deployment/program.ts';
import { readEnvironmentFile, readUnit } from '../../test/support/deployment/unit.ts';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..', '..');
const NOBODY = 65_534;

/** Each unit, and the setting of the port that the name of its instance is. */
const UNITS = [
  { file: 'heliograph.service', role: 'serve', portSetting: null },
  { file: 'heliograph-api@.service', role: 'api', portSetting: 'PORT' },
  { file: 'heliograph-worker@.service', role: 'worker', portSetting: 'WORKER_PORT' },
] as const;

/** Maximum time of the program to stop when something hangs. */
const STOP_SECONDS = 15;
const EXAMPLE = readEnvironmentFile(join(HERE, 'heliograph.env'));

/** Words of a command line; ours have no quotes. */
const wordsOf = (line: string): string[] => line.split(' ').filter((word) => word !== '');

/** A unit file for this checkout instead of /opt/heliograph, in its own folder. */
async function unitHere(file: string, instance = ''): Promise<string> {
  const folder = await temporaryFolder('heliograph-unit-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const text = readFileSync(join(HERE, file), 'utf8').replaceAll('/opt/heliograph', ROOT);
  const copy = join(folder, file.replace('@.', `@${instance}.`));
  await writeFile(copy, text);
  return copy;
}

/** The user that the unit's command can run as: nobody, if root runs the tests and others may read the checkout. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const user = { uid: NOBODY, gid: NOBODY };
  const node = join(ROOT, 'node_modules', '.bin', 'node');
  const mayRead = spawnSync(node, ['--check', join(ROOT, 'src', 'main.ts')], user).status === 0;
  return mayRead ? user : undefined;
}

describe.each(UNITS)('$file', ({ file, role, portSetting }) => {
  const unit = readUnit(join(HERE, file));

  test('starts a command that exists, from the folder that it names', async () => {
    const words = wordsOf(unit.get('ExecStart') ?? '');
    expect(words.at(-1)).toBe(role);
    expect(await isCommand(role)).toBe(true);
    expect(words).toContain(`${unit.get('WorkingDirectory')}/node_modules/.bin/node`);
    expect(words.includes(`${portSetting}=%i`)).toBe(portSetting !== null);
  });

  test('gives Node the flags that package.json gives it', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const flags = wordsOf(unit.get('ExecStart') ?? '').filter((word) => word.startsWith('--'));
    expect(wordsOf(scripts.start).filter((word) => word.startsWith('--'))).toEqual(flags);
  });

  test('waits longer for the end than the program takes', () => {
    expect(Number(unit.get('TimeoutStopSec'))).toBeGreaterThan(STOP_SECONDS);
  });

  test('runs as its unprivileged user, becomes ready, and ends by SIGTERM', async () => {
    await using database = await createTestDatabase();
    // Over TCP: the socket is not for this user.
    const url = new URL(database.connectionString);
    url.search = '';
    const state = await temporaryFolder('heliograph-state-');
    onTestFinished(() => rm(state, { recursive: true }));
    const user = unprivileged();
    await mkdir(join(state, 'data'));
    if (user) await chown(join(state, 'data'), user.uid, user.gid);
    const port = await freePort();
    const words = wordsOf(
      (unit.get('ExecStart') ?? '').replaceAll('/opt/heliograph', ROOT).replaceAll('%i', `${port}`),
    );
    const [command = '', ...args] = words;
    const child = spawn(command, args, {
      cwd: ROOT,
      env: {
        ...EXAMPLE,
        DATA_DIR: join(state, 'data'),
        DATABASE_URL: url.href,
        SECRET_KEY: '5e'.repeat(32),
        // As a careless environment file would: the instance's own port counts.
        PORT: portSetting === null ? `${port}` : '1',
        WORKER_PORT: '1',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...user,
    });
    const ended = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const answer = await until('readiness', async () => {
      if (child.exitCode !== null) throw new Error(errors);
      return fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
    });
    expect(answer.status).toBe(200);
    const startedStop = performance.now();
    child.kill('SIGTERM');
    expect((await ended)[0], errors).toBe(0);
    expect(performance.now() - startedStop).toBeLessThan(Number(unit.get('TimeoutStopSec')) * 1000);
  });

  test('systemd understands it', async ({ skip }) => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) return skip('systemd-analyze is not installed');
    const copy = await unitHere(file, portSetting === null ? '' : '8081');
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], { encoding: 'utf8' });
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('heliograph'));
    expect({ status, ours }).toEqual({ status: 0, ours: [] });
  });

  test('leaves little exposed, as systemd judges it', async ({ skip }) => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) return skip('systemd-analyze is not installed');
    const copy = await unitHere(file, portSetting === null ? '' : '8081');
    // In tenths, of 100; a service without these settings has 92 to 96.
    const { status, stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=yes', '--threshold=20', '--no-pager', copy],
      { encoding: 'utf8' },
    );
    expect(status, stdout).toBe(0);
  });
});

test('the units of api and worker are hardened like that of serve', () => {
  const hardening = (file: string): string[] => {
    const lines = readFileSync(join(HERE, file), 'utf8').split('\n');
    return lines.slice(lines.indexOf('UMask=0077')).filter((line) => !line.startsWith('#'));
  };
  for (const { file } of UNITS) expect(hardening(file)).toEqual(hardening('heliograph.service'));
});

test('the example of the environment file is accepted, with its comments as settings, too', () => {
  const text = readFileSync(join(HERE, 'heliograph.env'), 'utf8').replace(/^#([A-Z_]+=)/gm, '$1');
  const all = Object.fromEntries(
    [...text.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  expect(Object.keys(all).length).toBeGreaterThan(Object.keys(EXAMPLE).length);
  expect(configOf(all)).toMatchObject({ sandbox: 'off', trustProxy: ['127.0.0.1'] });
});
