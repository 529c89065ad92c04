import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, type Stats, statSync } from 'node:fs';
import { chown, mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildDeb } from '../../scripts/build-deb.ts';
import { createClient, SEND, STATUS } from '../../test/support/client.ts';
import { removeDataDir } from '../../test/support/data-dir.ts';
import { readEnvironmentFile, readUnit } from '../../test/support/deployment/unit.ts';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SETTINGS = '/etc/heliograph/heliograph.env';
const UNIT = '/usr/lib/systemd/system/heliograph.service';
const HOME = '/opt/heliograph';
const STATE = '/var/lib/heliograph';
const EARLIER = '0.0.1-rc.1';
const LATER = '0.0.1';
/** Headers of the proxy that the settings of the package expect on this machine. */
const PROXIED = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
const USER_MS = 5000;
/** 330 MB are copied, packed and unpacked twice. */
const TIMEOUT_MS = 600_000;

const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

/** Returns the reason why the package cannot be installed here. An installation that exists is never touched. */
function obstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can install a package';
  if (!has('dpkg-deb', '--version')) return 'dpkg is not installed';
  if (has('dpkg-query', '--show', 'heliograph')) return 'a package heliograph is known here already';
  return [HOME, '/etc/heliograph', UNIT, '/usr/bin/heliograph']
    .find((path) => existsSync(path))
    ?.concat(' exists already');
}
const missing = obstacle();

function dpkg(...args: string[]): string {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Without a sync after each of 20,000 files.
  return execFileSync('dpkg', ['--force-unsafe-io', ...args], { env, encoding: 'utf8' });
}

const field = (name: string): string =>
  execFileSync('dpkg-query', ['--show', `--showformat=\${${name}}`, 'heliograph'], { encoding: 'utf8' });

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'heliograph'], { encoding: 'utf8' }));

/** Root's PostgreSQL makes this user, too, where there is no user postgres. */
const hasUser = (): boolean => has('getent', 'passwd', 'heliograph');

/** State of the machine before the package was installed. */
type Before = { readonly state: Stats | undefined; readonly user: boolean };

/** Removes the package, and then what it leaves by intent. */
async function leaveAsItWas(before: Before): Promise<void> {
  if (has('dpkg-query', '--show', 'heliograph')) dpkg('--purge', 'heliograph');
  await rm(dirname(SETTINGS), { recursive: true, force: true });
  if (before.state === undefined) await rmdir(STATE).catch(() => undefined);
  else await chown(STATE, before.state.uid, before.state.gid);
  if (before.user || !hasUser()) return;
  // The PostgreSQL of another run of the tests may use it by now: then it stays.
  await until('the end of the user', () => has('userdel', 'heliograph'), USER_MS).catch(() => undefined);
}

/** Changes settings of the installed file as an administrator does. */
async function set(settings: Readonly<Record<string, string>>): Promise<void> {
  const text = await readFile(SETTINGS, 'utf8');
  const kept = text.split('\n').filter((line) => !Object.keys(settings).includes(line.split('=')[0] ?? ''));
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await writeFile(SETTINGS, `${kept.join('\n')}${lines.join('\n')}\n`);
}

/** Runs the command of the unit, as its user and with its settings, until `work` is done. */
async function whileRunning(port: number, work: () => Promise<void>): Promise<void> {
  const unit = readUnit(UNIT);
  const [command = '', ...args] = (unit.get('ExecStart') ?? '').split(' ');
  const child = spawn(command, args, {
    cwd: unit.get('WorkingDirectory'),
    env: readEnvironmentFile(unit.get('EnvironmentFile') ?? ''),
    uid: idOf('-u'),
    gid: idOf('-g'),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  try {
    await until('readiness', async () => {
      if (child.exitCode !== null) throw new Error(errors);
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      return answer?.status === 200;
    });
    await work();
    child.kill('SIGTERM');
    expect((await ended)[0], errors).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
}

/** `heliograph COMMAND` of root, who sets nothing. */
const heliograph = (...args: string[]): string =>
  execFileSync('/usr/bin/heliograph', args, { cwd: '/', env: { PATH: process.env['PATH'] }, encoding: 'utf8' });

function expectInstalled(before: Before): void {
  expect(field('db:Status-Status')).toBe('installed');
  expect(execFileSync('dpkg', ['--verify', 'heliograph'], { encoding: 'utf8' })).not.toMatch(/\/(?:opt|usr)\//);
  const folder = statSync(dirname(SETTINGS));
  expect([folder.mode & 0o777, folder.uid, folder.gid]).toEqual([0o770, 0, idOf('-g')]);
  const settings = statSync(SETTINGS);
  expect([settings.mode & 0o777, settings.uid, settings.gid]).toEqual([0o640, 0, idOf('-g')]);
  const state = statSync(STATE);
  // One that was there keeps its mode: PostgreSQL may run in it for root, as another user.
  expect([state.mode & 0o777, state.uid]).toEqual([before.state ? before.state.mode & 0o777 : 0o700, idOf('-u')]);
  const program = statSync(join(HOME, 'src/main.ts'));
  expect([program.mode & 0o777, program.uid]).toEqual([0o644, 0]);
  expect(globSync('{src,deploy}/**/*.test.ts', { cwd: HOME })).toEqual([]);
  expect(existsSync(join(HOME, 'node_modules/vitest'))).toBe(false);
}

test.runIf(missing !== undefined)('the Debian package', ({ skip }) => skip(missing));

test.runIf(missing === undefined)(
  'the Debian package runs as its user, and keeps settings and data when it is upgraded and purged',
  async () => {
    execFileSync(process.execPath, [join(ROOT, 'scripts/build-console.ts')]);
    const folder = await temporaryFolder(`heliograph-test-${process.pid}-`);
    onTestFinished(() => rm(folder, { recursive: true }));
    const build = (version: string): Promise<string> => buildDeb({ version, to: folder, compression: 'none' });
    const earlier = await build(EARLIER);
    const before = { state: statSync(STATE, { throwIfNoEntry: false }), user: hasUser() };
    onTestFinished(() => leaveAsItWas(before));

    const first = dpkg('--install', earlier);
    expect(first).toContain('systemctl enable --now heliograph');
    expect(field('Version')).toBe('0.0.1~rc.1');
    expectInstalled(before);

    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, idOf('-u'), idOf('-g'));
    onTestFinished(() => removeDataDir(dataDir));
    const port = await freePort();
    await set({ DATA_DIR: dataDir, PORT: `${port}`, SECRET_KEY: '5e'.repeat(32), SANDBOX: 'on' });
    const settings = readFileSync(SETTINGS, 'utf8');
    const origin = (): string => `http://127.0.0.1:${port}`;
    const customerMessageId = 'before-the-upgrade';
    let key = '';
    const statusOf = async (id: string): Promise<unknown> => {
      const { body } = await createClient(origin, key).request('GET', `${STATUS}/${id}`, { headers: PROXIED });
      return Object(body).deliveryStatus;
    };
    await whileRunning(port, async () => {
      const page = await createClient(origin, '').request('GET', '/', { headers: { ...PROXIED, accept: 'text/html' } });
      expect(page.body).toContain('/assets/');
      const { apiKey } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
      key = apiKey;
      const body = { phoneNumber: '+393331234567', message: 'Hello', customerMessageId };
      const sent = await createClient(origin, key).request('POST', SEND, { body, headers: PROXIED });
      expect(sent).toMatchObject({ status: 200, body: { results: [{ accepted: true }] } });
      await until('its receipt', async () => (await statusOf(customerMessageId)) === 'DELIVERED');
      expect(heliograph('account', 'list')).toContain('Demo');
    });

    const second = dpkg('--install', await build(LATER));
    expect(second).not.toContain('systemctl enable');
    expect(field('Version')).toBe(LATER);
    expectInstalled(before);
    expect(readFileSync(SETTINGS, 'utf8')).toBe(settings);
    await whileRunning(port, async () => {
      expect(await statusOf(customerMessageId)).toBe('DELIVERED');
    });

    expect(dpkg('--purge', 'heliograph')).toContain(`rm -r /etc/heliograph ${STATE}`);
    expect([HOME, UNIT, '/usr/bin/heliograph'].filter((path) => existsSync(path))).toEqual([]);
    expect(hasUser()).toBe(true);
    expect([STATE, SETTINGS, dataDir].filter((path) => !existsSync(path))).toEqual([]);
  },
  TIMEOUT_MS,
);
