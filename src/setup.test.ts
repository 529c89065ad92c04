import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../test/support/database.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { countAccounts } from './accounts/accounts.ts';
import { runCommand } from './core/cli.ts';
import { parseEnvFile } from './core/env-file.ts';
import { listConnections } from './routing/connection-store.ts';
import { registerSetupCommand } from './setup.ts';

const { pool, connectionString } = testDatabase();

/** Creates a temporary folder, in which `setup` writes its file. */
async function newPlace() {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'heliograph.env');
  const dataDir = join(folder, `it's "odd" $HOME`);
  const setUp = async (...args: readonly string[]) => {
    const out = { stdout: '', stderr: '' };
    const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
    const code = await runCommand([registerSetupCommand], {
      argv: ['node', 'main.ts', '--json', 'setup', '--yes', '--data-dir', dataDir, ...args],
      env: { HELIOGRAPH_ENV_FILE: file },
      stdout: writer('stdout'),
      stderr: writer('stderr'),
    });
    return { code, answer: out.stdout === '' ? null : JSON.parse(out.stdout), stderr: out.stderr };
  };
  return { dataDir, file, setUp };
}

test('an empty machine gets settings, account and carrier; a second run changes nothing', async () => {
  const { dataDir, file, setUp } = await newPlace();
  const carrier = ['--carrier-host', '127.0.0.1', '--carrier-system-id', 'acme', '--carrier-password', 'open sesame'];
  const address = ['--public-url', 'https://sms.example.com', '--database-url', connectionString];
  const first = await setUp(...address, ...carrier, '--account', 'Acme', '--credit', '5', '--price', '0.021');
  expect(first).toMatchObject({ code: 0, answer: { carrier: 'carrier', account: { name: 'Acme' } } });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  expect(parseEnvFile(text, file)).toEqual({
    DATA_DIR: dataDir,
    DATABASE_URL: connectionString,
    PUBLIC_URL: 'https://sms.example.com',
    TRUST_PROXY: '127.0.0.1',
    SECRET_KEY: expect.stringMatching(/^[0-9a-f]{64}$/),
    SANDBOX: 'off',
  });
  expect((await listConnections(pool)).map(({ name }) => name)).toEqual(['carrier']);
  expect(await setUp(...carrier)).toMatchObject({ code: 0, answer: { carrier: null, account: null } });
  expect(await readFile(file, 'utf8')).toBe(text);
  expect(await countAccounts(pool)).toBe(1);
});

test('an invalid value is rejected with its option, before anything is written', async () => {
  const { file, setUp } = await newPlace();
  for (const [option, answer, sentence] of [
    ['--public-url', 'http://a.example', '--public-url: must begin with https://'],
    ['--credit', 'much', '--credit: must be a number of 0 or more'],
    ['--database-url', 'postgres://u:hidden@127.0.0.1:1/db', 'Nothing responds at the address'],
  ] as const) {
    const { code, stderr } = await setUp(option, answer);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    expect(stderr).not.toContain('hidden');
  }
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
});
