import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { removeDataDir } from '../../test/support/data-dir.ts';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { listAccounts } from '../identity/accounts/sql.ts';
import type { NewAccount } from '../operations/accounts/create.ts';
import type { Finding } from '../operations/diagnosis/finding.ts';
import type { Done } from '../operations/setup/step.ts';
import { runCommand } from '../platform/cli.ts';
import { parseEnvFile } from '../platform/env-file.ts';
import { startSandboxSmsc } from '../simulators/smsc/smsc.ts';
import { registerSetupCommand } from './setup.ts';
import type { Tested } from './setup-check.ts';

type Answer = {
  readonly steps: readonly Done[];
  readonly account: NewAccount | null;
  readonly secrets: { readonly webhook: string | null; readonly alerts: string | null };
  readonly findings: readonly Finding[];
  readonly test: Tested | null;
};

const { pool, connectionString } = testDatabase();

const setUp = (...args: readonly string[]) => setUpIn({}, ...args);

async function setUpIn(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ code: number; answer: Answer | null; stderr: string }> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const code = await runCommand([registerSetupCommand], {
    argv: ['node', 'main.ts', '--json', 'setup', ...args],
    env: { RETENTION_DAYS: '30', ...env },
    stdout: writer('stdout'),
    stderr: writer('stderr'),
  });
  return { code, answer: out.stdout === '' ? null : JSON.parse(out.stdout), stderr: out.stderr };
}

test('all options on an empty machine end with a green doctor and a message at the carrier; a second run changes nothing', async () => {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(async () => {
    await removeDataDir(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true });
  });
  const smsc = await startSandboxSmsc({ systemId: 'acme', password: 'open sesame' });
  onTestFinished(() => smsc.close());
  const file = join(folder, 'heliograph.env');
  const options = Object.entries({
    'settings-file': file,
    'data-dir': join(folder, 'data'),
    database: 'built-in',
    'public-url': 'https://sms.example.com',
    'trust-proxy': '127.0.0.1',
    account: 'Acme',
    credit: '5',
    price: '0.021',
    'carrier-host': '127.0.0.1',
    'carrier-port': String(smsc.port),
    'carrier-system-id': 'acme',
    'carrier-password': 'open sesame',
    'webhook-url': 'https://203.0.113.7/events?token=open',
    'alert-webhook': 'https://203.0.113.7/alerts',
    'wal-archive': join(folder, 'wal'),
    'test-to': '+393331234567',
  }).flatMap(([name, value]) => [`--${name}`, value]);
  // Addresses for documentation are not public ones.
  const env = { WEBHOOK_ALLOW_CIDRS: '203.0.113.0/24' };
  const first = await setUpIn(env, ...options, '--secret-key-copied');
  expect(first.answer?.findings.filter(({ ok }) => !ok)).toEqual([]);
  expect(first).toMatchObject({ code: 0, answer: { account: { name: 'Acme' }, test: { ok: true } } });
  expect(first.answer?.secrets).toEqual({
    webhook: expect.stringMatching(/^whsec_/),
    alerts: expect.stringMatching(/^whsec_/),
  });
  expect(first.answer?.steps.map(({ step, changed }) => [step, changed])).toEqual([
    ['database', true],
    ['address', true],
    ['backup', true],
    ['secret key', true],
    ['sandbox', true],
    ['copy of the key', true],
    ['carrier', true],
    ['price', true],
    ['alerts', true],
    ['account', true],
    ['webhook', true],
  ]);
  expect(smsc.ledger.counts().submits).toBe(1);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  expect(parseEnvFile(text, file)).toEqual({
    DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'https://sms.example.com',
    TRUST_PROXY: '127.0.0.1',
    SECRET_KEY: expect.stringMatching(/^[0-9a-f]{64}$/),
    SANDBOX: 'off',
    WAL_ARCHIVE: join(folder, 'wal'),
  });
  const second = await setUpIn(env, '--settings-file', file, '--yes');
  expect(second).toMatchObject({
    code: 0,
    answer: { account: null, secrets: { webhook: null, alerts: null }, test: null },
  });
  expect(second.answer?.steps.filter(({ changed }) => changed)).toEqual([]);
  expect(await readFile(file, 'utf8')).toBe(text);
}, 300_000);

test('the credentials of a new account are shown even when the checks fail', async () => {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(async () => {
    await removeDataDir(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true });
  });
  // The file does not exist yet, and `setup` creates it.
  const env = { HELIOGRAPH_ENV_FILE: join(folder, 'heliograph.env') };
  const options = ['--data-dir', join(folder, 'data'), '--yes'];
  const { code, answer } = await setUpIn(
    env,
    ...options,
    '--account',
    'Acme',
    '--alert-mail',
    'ops@example.com',
    '--test-to',
    'nobody',
  );
  expect({ code, account: answer?.account?.name }).toEqual({ code: 1, account: 'Acme' });
  expect(answer?.test).toMatchObject({ ok: false, detail: expect.stringContaining('refused with status 400') });
  expect(answer?.steps).toContainEqual({
    step: 'alerts',
    changed: true,
    detail: 'ops@example.com; no mail leaves until SMTP_URL and MAIL_FROM are set',
  });
  expect(answer?.steps).toContainEqual({
    step: 'copy of the key',
    changed: false,
    detail: expect.stringContaining('NOT confirmed'),
  });
  expect((await stat(env.HELIOGRAPH_ENV_FILE)).mode & 0o777).toBe(0o600);
}, 300_000);

test('an address without HTTPS is refused before anything is written', async () => {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'heliograph.env');
  const refused = await setUp(
    '--settings-file',
    file,
    '--data-dir',
    join(folder, 'data'),
    '--public-url',
    'http://a.example',
  );
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('https://') });
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
});

/** Settings of a file in a folder of its own, on the database of this test file. */
async function onDatabase(): Promise<Record<string, string>> {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return {
    HELIOGRAPH_ENV_FILE: join(folder, 'heliograph.env'),
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: connectionString,
    WEBHOOK_ALLOW_CIDRS: '203.0.113.0/24',
  };
}

test('a secret that was made is shown even when a later answer is refused', async () => {
  const alerts = ['--alert-webhook', 'https://203.0.113.7/alerts'];
  const { code, answer } = await setUpIn(await onDatabase(), '--yes', ...alerts, '--credit', 'much');
  expect(code).toBe(1);
  expect(answer).toMatchObject({ account: null, secrets: { alerts: expect.stringMatching(/^whsec_/) } });
  expect(answer?.findings).toMatchObject([
    { ok: false, detail: expect.stringContaining('--credit: must be a number') },
  ]);
  expect(await listAccounts(pool)).toEqual([]);
}, 60_000);

test('Ctrl-C while the carrier is waited for ends the wait, and shows the credentials that were made', async () => {
  const carrier = ['--carrier-host', '127.0.0.1', '--carrier-port', String(await freePort())];
  const login = ['--carrier-system-id', 'acme', '--carrier-password', 'open sesame'];
  const before = process.listenerCount('SIGINT');
  const running = setUpIn(await onDatabase(), '--yes', '--account', 'Acme', ...carrier, ...login);
  await until('the account', async () => (await listAccounts(pool)).length > 0);
  for (const listener of process.listeners('SIGINT').slice(before)) listener('SIGINT');
  const { code, answer } = await running;
  expect({ code, account: answer?.account?.name }).toEqual({ code: 1, account: 'Acme' });
  expect(answer?.findings).toMatchObject([{ name: 'check', ok: false, detail: 'interrupted' }]);
  expect(process.listenerCount('SIGINT')).toBe(before);
}, 60_000);
