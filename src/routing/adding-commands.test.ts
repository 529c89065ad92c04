import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { connectGraph } from '../../test/support/networks.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { startSandboxGraph } from '../sandbox/graph-server.ts';
import { registerConnectionCommands } from './connection-commands.ts';
import { findConnection } from './connection-store.ts';
import { secretOf } from './connections.ts';

const database = testDatabase();

let folder: string;
let run: ReturnType<typeof commandsOn>;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-adding-');
  run = commandsOn(database, registerConnectionCommands, registerOperations);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const SECRET_KEY = '5e'.repeat(32);
const key = createSecretKey(Buffer.from(SECRET_KEY, 'hex'));
async function stored(name: string) {
  const connection = await findConnection(database.pool, { name });
  if (!connection) throw new Error(`no connection ${name}`);
  return { settings: connection.settings, kind: connection.kind, secret: JSON.parse(secretOf(connection, key)) };
}
const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};
/** An address without a server: nothing can be set up at Meta. */
const NOWHERE = 'baseUrl=http://127.0.0.1:1';
const META = ['connection', 'add', 'whatsapp', '--waba-id', '500', '--access-token', 'token', '--app-secret', 'secret'];

test('a WhatsApp account is added with its numbers, and the operator gets what Meta asks for', async () => {
  const added = await run(
    ...META,
    '--name',
    'meta',
    '--phone-number-id',
    '106',
    '107',
    '--set',
    NOWHERE,
    'concurrency=9',
    'mediaHosts=["a.example"]',
    'appId="77"',
  );
  expect(added).toMatchObject({
    code: 0,
    answer: { name: 'meta', callbackUrl: 'http://127.0.0.1:8080/api/callbacks/whatsapp/meta' },
  });
  const { verifyToken } = added.answer as { verifyToken: string };
  expect(await stored('meta')).toMatchObject({
    kind: 'whatsapp',
    settings: { wabaId: '500', appId: '77', phoneNumberIds: ['106', '107'], concurrency: 9, mediaHosts: ['a.example'] },
    secret: { accessToken: 'token', appSecret: 'secret', verifyToken },
  });
});

test('invalid settings are refused by name, and nothing is stored', async () => {
  const wrong = await run(...META.with(4, 'no number'), '--name', 'wrong', '--phone-number-id', '106');
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('wabaId') });
  expect(await findConnection(database.pool, { name: 'wrong' })).toBeUndefined();
});

test('the app is subscribed and the numbers are registered when the account is added, and it says so', async () => {
  const numbers = [{ id: '106', displayNumber: '+351 1', verifiedName: 'X', registered: false, pin: '123456' }];
  const graph = await startSandboxGraph({ numbers, subscribed: false });
  onTestFinished(() => graph.close());
  const { accessToken, appSecret, wabaId, baseUrl } = graph;
  const access = ['--waba-id', wabaId, '--access-token', accessToken, '--app-secret', appSecret];
  const add = ['connection', 'add', 'whatsapp', ...access, '--phone-number-id', '106', '--set', `baseUrl=${baseUrl}`];
  expect(await run(...add, '--name', 'without-pin')).toMatchObject({
    code: 0,
    answer: {
      steps: [
        { name: 'subscribe', ok: true },
        { name: 'register', ok: false, detail: expect.stringContaining('connection setup without-pin --pin PIN') },
      ],
    },
  });
  expect(await run('connection', 'setup', 'without-pin', '--pin', '000000')).toMatchObject({ code: 1 });
  expect(await run(...add, '--name', 'with-pin', '--register-pin', '123456')).toMatchObject({
    code: 0,
    answer: { steps: [{ ok: true }, { ok: true, detail: 'All numbers are registered for the Cloud API.' }] },
  });
  expect(await run('connection', 'setup', 'with-pin')).toMatchObject({ code: 0 });
});

test('a connection is stored even when Meta cannot be reached, and the cure is named', async () => {
  const added = await run(...META, '--name', 'away', '--phone-number-id', '106', '--set', NOWHERE);
  const detail = expect.stringContaining('Try again: connection setup away');
  expect(added).toMatchObject({
    code: 0,
    answer: { steps: [{ name: 'subscribe', ok: false, detail }, { ok: false }] },
  });
  expect(await stored('away')).toMatchObject({ kind: 'whatsapp' });
});

test('an RCS account is added from the key file that Google issues', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const account = { client_email: 'a@b.example', private_key: pem, private_key_id: '1', type: 'service_account' };
  const path = await file('key.json', JSON.stringify(account));
  const add = ['connection', 'add', 'rcs', '--name', 'google', '--client-token', 'our-token', '--service-account'];
  expect(await run(...add, path, '--set', 'trafficType=PROMOTION')).toMatchObject({
    code: 0,
    answer: { callbackUrl: 'http://127.0.0.1:8080/api/callbacks/rcs/google', clientToken: 'our-token' },
  });
  expect(await stored('google')).toMatchObject({
    kind: 'rcs',
    settings: { trafficType: 'PROMOTION' },
    secret: { clientEmail: 'a@b.example', clientToken: 'our-token' },
  });
});

test.each([
  ['is not there', null],
  ['is no JSON', 'no'],
  ['is no object', '5'],
])('a key file that %s is refused', async (_, content) => {
  const path = content === null ? join(folder, 'none.json') : await file('bad.json', content);
  const answer = await run('connection', 'add', 'rcs', '--name', 'bad', '--service-account', path);
  expect(answer).toMatchObject({ code: 1, stderr: expect.stringContaining('--service-account') });
});

test('secrets are read from files, by options and by pairs, and a missing or empty one is refused by its name', async () => {
  const [token, empty] = [await file('token', 'from-file\n'), await file('empty', '\n')];
  const add = ['connection', 'add', 'whatsapp', '--waba-id', '501', '--phone-number-id', '108', '--name', 'files'];
  const safe = [...add, '--access-token-file', token, '--set', NOWHERE];
  expect(await run(...safe)).toMatchObject({ code: 1, stderr: expect.stringContaining('--app-secret: is required') });
  expect(await run(...safe, '--app-secret-file', empty)).toMatchObject({
    code: 1,
    stderr: '--app-secret-file: must not be empty\n',
  });
  expect(await findConnection(database.pool, { name: 'files' })).toBeUndefined();
  expect(await run(...safe, `appSecret=@${token}`)).toMatchObject({ code: 0 });
  expect((await stored('files')).secret).toMatchObject({ accessToken: 'from-file', appSecret: 'from-file' });
  const newer = await file('newer', 'newer\r\n');
  expect(await run('connection', 'update', 'files', '--set', `appSecret=@${newer}`)).toMatchObject({ code: 0 });
  expect((await stored('files')).secret).toMatchObject({ accessToken: 'from-file', appSecret: 'newer' });
});

test('one secret is changed, and the others stay', async () => {
  const path = await file('secrets.json', '{"accessToken":"newer"}');
  expect(await run('connection', 'update', 'meta', '--secrets', path)).toMatchObject({ code: 0 });
  expect((await stored('meta')).secret).toMatchObject({ accessToken: 'newer', appSecret: 'secret' });
});

test('a test of a connection reports whether its network accepts the token', async () => {
  const account = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' });
  const { pool } = database;
  await pool.query(`DELETE FROM connection WHERE name = 'meta'`);
  const { graph } = await connectGraph({ pool, environment: { SECRET_KEY }, account });
  expect(await run('connection', 'test', 'meta')).toMatchObject({ code: 0, answer: { ok: true } });
  const path = await file('wrong.json', '{"accessToken":"wrong"}');
  await run('connection', 'update', 'meta', '--secrets', path);
  expect(await run('connection', 'test', 'meta')).toMatchObject({ code: 1 });
  await graph.close();
});

const TWILIO = ['connection', 'add', 'http', '--preset', 'twilio'];

test('a carrier over HTTP is added from a preset, with its secrets among the settings', async () => {
  const added = await run(...TWILIO, '--name', 'twilio', '--set', 'account=AC1', 'apiKey=auth-token', 'tps=5');
  expect(added).toMatchObject({
    code: 0,
    answer: {
      name: 'twilio',
      callbackUrl: 'http://127.0.0.1:8080/api/callbacks/http/twilio',
      callbackToken: expect.stringMatching(/^[\w-]{32}$/),
    },
  });
  const { settings, secret } = await stored('twilio');
  expect(settings).toMatchObject({ preset: 'twilio', account: 'AC1', tps: 5 });
  expect(settings).not.toHaveProperty('apiKey');
  // Values of the preset are not stored: a newer one reaches connections that exist.
  expect(settings).not.toHaveProperty('request');
  expect(secret).toMatchObject({ apiKey: 'auth-token' });
  const { callbackToken } = secret;
  expect(await run('connection', 'update', 'twilio', '--set', 'apiKey=123', 'tps=7')).toMatchObject({ code: 0 });
  const changed = await stored('twilio');
  expect(changed.settings).toMatchObject({ account: 'AC1', tps: 7 });
  expect(changed.secret).toMatchObject({ apiKey: '123', callbackToken });
});

test('a carrier over HTTP is added without a preset, with its protocol as JSON', async () => {
  const request = { path: '/send', format: 'form', body: { to: '{{to}}', text: '{{text}}' } };
  const set = ['baseUrl=https://sms.example.com', `request=${JSON.stringify(request)}`, 'answer={"id":"text:ID: *"}'];
  expect(await run('connection', 'add', 'http', '--name', 'own', '--set', ...set)).toMatchObject({ code: 0 });
  expect((await stored('own')).settings).toMatchObject({ request, answer: { id: 'text:ID: *' } });
});

test.each([
  ['an account that its preset needs', ['apiKey=k'], 'settings.account'],
  ['a key that its preset needs', ['account=AC1'], 'secret.apiKey'],
  ['a variable that exists', ['account=AC1', 'apiKey=k', 'request={"path":"/{{nothing}}"}'], 'settings.request.path'],
])('a carrier over HTTP without %s is refused by the name of the field', async (_, set, field) => {
  expect(await run(...TWILIO, '--name', 'wrong', '--set', ...set)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(field.replace(/^(settings|secret)\./, '')),
  });
  expect(await findConnection(database.pool, { name: 'wrong' })).toBeUndefined();
});
