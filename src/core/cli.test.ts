import { execFile } from 'node:child_process';
import { access, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { removeDataDir } from '../../test/support/data-dir.ts';
import { createTestDatabase, testDatabase } from '../../test/support/database.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { createAuthenticator } from '../accounts/authenticate.ts';
import { COMMANDS } from '../commands.ts';
import { createDemoAccount } from '../operate/account-commands.ts';
import { SCOPES } from './actor.ts';
import { runCommand, table } from './cli.ts';
import { nameOfDatabase } from './db/database-url.ts';
import { silentLog } from './log.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

const database = testDatabase();

type Result = { code: number; stdout: string; stderr: string };

const onTestDatabase = () => ({ DATABASE_URL: database.connectionString });

/** Runs a command in this process: quick, and its coverage counts. */
async function run(args: string[], env: Record<string, string> = onTestDatabase()): Promise<Result> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const io = { stdout: writer('stdout'), stderr: writer('stderr') };
  const code = await runCommand(COMMANDS, {
    ...io,
    env,
    argv: ['node', 'main.ts', ...args],
  });
  return { code, ...out };
}

/** Runs the program as an operator does, in a separate process. */
const runProgram = (args: string[]) =>
  new Promise<Result>((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { env: onTestDatabase() }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    );
  });

async function runJson(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await run([...args, '--json']);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

async function actorOf(headers: Record<string, string>) {
  const { authenticate } = createAuthenticator({ pool: database.pool, log: silentLog });
  return (await authenticate({ headers, ip: '127.0.0.1', protocol: 'https' })).actor;
}
const withKey = (key: unknown) => actorOf({ 'x-api-key': String(key) });

test('the program itself runs the commands, with their output and exit codes', async () => {
  const [made, failed, wrong] = await Promise.all([
    runProgram(['account', 'create', '--name', 'Operator', '--json']),
    runProgram(['account', 'suspend', 'Nobody']),
    runProgram(['account', 'create']),
  ]);
  expect([made.code, made.stderr]).toEqual([0, '']);
  const { accountId, apiKey } = JSON.parse(made.stdout);
  expect(await withKey(apiKey)).toMatchObject({ accountId });
  expect(failed).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^Database: .*\nThere is no account Nobody\n$/),
  });
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
});

test('without an installation a command names the folder and creates nothing; with one it starts its PostgreSQL and stops it', async () => {
  const dir = await temporaryFolder(`heliograph-test-${process.pid}-`);
  const dataDir = join(dir, 'data');
  const there = (...args: string[]): Promise<Result> => run(args, { DATA_DIR: dataDir });
  try {
    for (const args of [['account', 'list'], ['account', 'create', '--name', 'Lost'], ['doctor']]) {
      const { code, stdout, stderr } = await there(...args);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(new RegExp(`^There is no installation in ${dataDir}: .*DATA_DIR or DATABASE_URL.*\n$`));
    }
    expect(await readdir(dir)).toEqual([]);
    expect((await there('migrate')).stdout).toBe('The schema is up to date.\n');
    const made = await there('account', 'create', '--name', 'At home');
    expect([made.code, made.stderr]).toEqual([0, `Database: the built-in PostgreSQL in ${dataDir}\n`]);
    expect((await there('account', 'list')).stdout).toContain('At home');
    await expect(access(join(dataDir, 'postgres', 'postmaster.pid'))).rejects.toThrow('ENOENT');
  } finally {
    await removeDataDir(dataDir);
    await rm(dir, { recursive: true });
  }
});

describe('account', () => {
  test('create --json prints one document whose key and password both work', async () => {
    const made = await runJson('account', 'create', '--name', 'Ärzte & Söhne GmbH', '--plan', 'trial');
    expect(made).toEqual({
      accountId: expect.any(Number),
      name: 'Ärzte & Söhne GmbH',
      apiKey: expect.stringMatching(/^pg_live_/),
      username: 'arzte-sohne-gmbh',
      password: expect.stringMatching(/^[\w-]{24}$/),
    });
    const basic = Buffer.from(`${made['username']}:${made['password']}`).toString('base64');
    expect(await withKey(made['apiKey'])).toMatchObject({ accountId: made['accountId'], plan: 'trial', role: 'admin' });
    expect(await actorOf({ authorization: `Basic ${basic}` })).toMatchObject({ accountId: made['accountId'] });
  });

  test('a second account of the same name gets another username, and the name alone no longer identifies one', async () => {
    const first = await runJson('account', 'create', '--name', 'Twin');
    const second = await runJson('account', 'create', '--name', 'Twin');
    expect(first['username']).toBe('twin');
    expect(second['username']).toMatch(/^twin-[0-9a-f]{4}$/);
    const { code, stderr } = await run(['account', 'suspend', 'Twin', '--json']);
    expect([code, stderr]).toEqual([
      1,
      `Several accounts have the name Twin: use an id (${first['accountId']}, ${second['accountId']})\n`,
    ]);
    expect(await runJson('account', 'suspend', String(second['accountId']))).toMatchObject({ status: 'suspended' });
    expect(await withKey(first['apiKey'])).toMatchObject({ accountId: first['accountId'] });
  });

  test('suspend stops the account at its next request, resume lets it in again, both may be repeated', async () => {
    const { accountId, apiKey } = await runJson('account', 'create', '--name', 'Late');
    for (let i = 0; i < 2; i++)
      expect(await runJson('account', 'suspend', 'Late')).toMatchObject({ id: accountId, status: 'suspended' });
    await expect(withKey(apiKey)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await runJson('account', 'resume', 'Late')).toMatchObject({ id: accountId, status: 'active' });
    expect(await withKey(apiKey)).toMatchObject({ accountId });
  });

  test('list shows every account, as JSON or as a table', async () => {
    const { accountId } = await runJson('account', 'create', '--name', 'Listed');
    const listed = await runJson('account', 'list');
    expect(listed).toContainEqual({
      away: null,
      cell: null,
      id: accountId,
      name: 'Listed',
      status: 'active',
      plan: 'production',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const { stdout } = await run(['account', 'list']);
    expect(stdout).toMatch(/^id +name +status +plan +created +served\n/);
    expect(stdout).toMatch(/Listed +active +production/);
  });

  test('a demo account is made on an empty database only, and once by two programs at once', async () => {
    const empty = await createTestDatabase();
    const made = await Promise.all([createDemoAccount(empty.pool), createDemoAccount(empty.pool)]);
    expect(made.filter(Boolean)).toEqual([expect.objectContaining({ name: 'Demo', username: 'demo' })]);
    expect(await createDemoAccount(empty.pool)).toBeUndefined();
    await empty[Symbol.asyncDispose]();
  });
});

describe('key', () => {
  test('create gives the scopes asked for, all by default, and revoke ends the key', async () => {
    const { accountId } = await runJson('account', 'create', '--name', 'Keys');
    const all = await runJson('key', 'create', '--account', 'Keys');
    const some = await runJson('key', 'create', '--account', 'Keys', '--name', 'ci', '--operations', 'tracking, SMS');
    expect((await withKey(all['apiKey'])).operations.size).toBe(SCOPES.length);
    expect(some).toMatchObject({ name: 'ci', operations: ['SMS', 'tracking'] });
    expect(await withKey(some['apiKey'])).toMatchObject({ accountId, keyId: some['id'], userId: null });
    expect(await runJson('key', 'revoke', String(some['id']), '--account', 'Keys')).toBeNull();
    await expect(withKey(some['apiKey'])).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

test('without --json a command prints text', async () => {
  const { stdout } = await run(['account', 'create', '--name', 'Readable']);
  expect(stdout).toMatch(
    /^Account Readable \(id \d+\)\. Save .*\n  API key   pg_live_.*\n  username  readable\n  password  .{24}\n$/,
  );
  expect((await run(['account', 'suspend', 'Readable'])).stdout).toMatch(/^status: +suspended$/m);
  const key = await run(['key', 'create', '--account', 'Readable']);
  const id = /^id: +(\d+)$/m.exec(key.stdout)?.[1] ?? '';
  expect(key.stdout).toMatch(/^api key: +pg_live_/m);
  expect((await run(['key', 'revoke', id, '--account', 'Readable'])).stdout).toBe('Done.\n');
});

describe('errors', () => {
  test.for([
    [['account', 'suspend', 'Nobody'], 'There is no account Nobody\n'],
    [['key', 'create', '--account', '999999'], 'There is no account 999999\n'],
    [['account', 'create', '--name', ' '], 'name: must have 1 to 200 characters\n'],
  ] as const)('%s fails with one sentence and exit code 1', async ([args, sentence]) => {
    expect(await run([...args, '--json'])).toEqual({ code: 1, stdout: '', stderr: sentence });
  });

  test.for([
    [[]],
    [['acount']],
    [['account', 'create']],
    [['account', 'create', '--name', 'x', '--plan', 'free']],
    [['key', 'create']],
    [['account', 'change', 'x', '--plan', 'free']],
  ] as const)('%s is a wrong call: exit code 2 and nothing on stdout', async ([args]) => {
    const { code, stdout, stderr } = await run([...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toBe('');
  });

  test('--help works whatever the configuration, and exits with 0', async () => {
    const { code, stdout } = await run(['account', 'create', '--help'], { DATABASE_URL: 'nonsense' });
    expect(code).toBe(0);
    expect(stdout).toContain('--json');
  });

  test('a database that does not respond is explained in one sentence', async () => {
    const { code, stdout, stderr } = await run(['account', 'list'], { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Database: x at 127.0.0.1:1\nNothing responds at the address in DATABASE_URL.*\n$/);
  });
});

test('settings that the environment lacks come from the file in HELIOGRAPH_ENV_FILE', async () => {
  const file = join(await temporaryFolder('heliograph-env-'), 'heliograph.env');
  await writeFile(file, `DATABASE_URL=${database.connectionString}\n`);
  const { code, stderr } = await run(['account', 'list'], { HELIOGRAPH_ENV_FILE: file });
  expect([code, stderr]).toEqual([0, `Database: ${nameOfDatabase(database.connectionString)}\n`]);
  const lacking = await run(['account', 'list'], { HELIOGRAPH_ENV_FILE: `${file}.none` });
  expect([lacking.code, lacking.stdout]).toEqual([1, '']);
  expect(lacking.stderr).toMatch(/^The file in HELIOGRAPH_ENV_FILE cannot be read: /);
});

test('a link that only this machine reaches is printed with a warning that names PUBLIC_URL', async () => {
  await run(['account', 'create', '--name', 'Linked']);
  const link = (env = {}) => run(['user', 'reset-link', 'linked'], { ...onTestDatabase(), ...env });
  const local = await link();
  expect(local.stdout).toContain('http://127.0.0.1:8080/reset-password#');
  expect(local.stderr).toMatch(/^Database: .*\nWarning: The link uses http:\/\/127\.0\.0\.1:8080.*PUBLIC_URL.*\n$/);
  const published = await link({ PUBLIC_URL: 'https://sms.example.com' });
  expect(published.stdout).toContain('https://sms.example.com/reset-password#');
  expect(published.stderr).toMatch(/^Database: .*\n$/);
});

test('a table aligns its columns and has no trailing blanks', () => {
  const text = table(
    ['ID', 'NAME'],
    [
      [1, 'a'],
      [12, 'long one'],
    ],
  );
  expect(text).toBe('ID  NAME\n1   a\n12  long one');
});
