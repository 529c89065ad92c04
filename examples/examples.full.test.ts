import { assignSandboxNumbers } from '../src/sandbox/sandbox-store.ts';
import { TEST_CERT, TEST_KEY } from '../test/support/http/certificate.ts';
import { freePort } from '../test/support/http/free-port.ts';
import { startTestProgram, type TestProgram } from '../test/support/program.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { until } from '../test/support/until.ts';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

/** Each operator command starts a process, and other tests run at the same time. */
/** `15-operator.sh` starts ten processes one after the other: 15 s on an idle machine, minutes on a crowded one. */
const TIMEOUT_MS = 360_000;
/** An example that hangs is ended before its test, so that the failure shows what it printed. */
const MAX_RUN_MS = TIMEOUT_MS - 10_000;

const RECIPIENT_BY_SMS = /"\+491713920007"[^}]*"channel":"SMS"/;
const RECIPIENT_BY_RCS = /"\+491713920023"[^}]*"channel":"RCS"/;

/** The output that each example must show, in this order. */
const EXAMPLES: Readonly<Record<string, readonly RegExp[]>> = {
  '01-send-sms.sh': [/"accepted":true/, /"accepted":true/, /"field":"phoneNumber"/, /HTTP 400/, /"simulation":true/],
  '02-status-and-timeline.sh': [/"deliveryStatus":"DELIVERED"/, /"kind":"RECEIPT"/, /"kind":"FINAL"/, /^\[\{/m],
  '04-contacts-and-import.sh': [
    /"dryRun":true/,
    /"created":3,.*"errors":1/,
    /"line":5/,
    /^0701,.*phoneNumber has no country code/m,
    /Ada Example/,
    /"[Cc]ity":"Melbourne"/,
    /"deleted":1/,
    /"contactCount":2/,
  ],
  '05-campaign.sh': [
    /"totalDestinations":3/,
    /"calculated":true/,
    /HTTP 400/,
    /"status":2/,
    /"status":3.*"totalSuccess":3/,
    /"status":"DELIVERED"/,
    /"delivered":3/,
  ],
  '06-fallback-campaign.sh': [
    /"totalDestinations":2/,
    /"status":3.*"totalSuccess":2/,
    RECIPIENT_BY_SMS,
    RECIPIENT_BY_RCS,
  ],
  '07-whatsapp-template.sh': [/sandbox_welcome/, /"deliveryStatus":"DELIVERED"/, /"CONVERSATION_CLOSED"/],
  '08-rcs-card.sh': [/"channel":"RCS".*"DELIVERED"/, /"channel":"SMS".*"DELIVERED"/],
  '09-inbox.sh': [
    /Sent a message from \+\d+ on WHATSAPP/,
    /"unreadCount":1/,
    /still open/,
    /"OUTBOUND"/,
    /"unreadCount":0.*"archived":true/,
  ],
  '10-media.sh': [/"mimeType":"image\/png"/, /HTTP 200 image\/png/, /HTTP 404/, /HTTP 400/, /HTTP 204/],
  '11-exports.sh': [/"isAvailableForDownload":true/, /^messageId,/m, /,'=SUM\(/],
  '12-api-keys.sh': [/HTTP 200\nHTTP 403/, /HTTP 200\nHTTP 200/, /"name":"Shop"/, /HTTP 401/, /api-key\.delete/],
  '13-bulk-sms.sh': [/"accepted":3/, /"statusCode":400/, /"credit":/],
  '14-social.sh': [
    /^\[\]$/m,
    /\/sandbox\/social\/www\.linkedin\.com/,
    /HTTP 200/,
    /"platform":"linkedin".*"sandbox":true/,
    /HTTP 204/,
  ],
  '15-operator.sh': [/is up/, /"price": ?0\.055/, /"destination":"4236601234"/, /Removed again/, /Done\./],
};
/** Tested with a network in `test/flows/bot.full.test.ts`. */
const BOT = '16-bot.mjs';
const WEBHOOKS = ['03-webhook-receiver.mjs', '03-webhook-register.sh'];

let program: TestProgram;
let folder: string;
let environment: Record<string, string>;
let port: number;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-test-examples-');
  await writeFile(join(folder, 'cert.pem'), TEST_CERT);
  await writeFile(join(folder, 'key.pem'), TEST_KEY);
  port = await freePort();
  program = await startTestProgram({
    carriers: {},
    roles: { sandbox: true },
    environment: {
      SANDBOX: 'on',
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(port),
      WEBHOOK_CA_FILE: join(folder, 'cert.pem'),
      // Links contain the configured port.
      PORT: String(await freePort()),
    },
  });
  await assignSandboxNumbers(program.pool, program.account);
  environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    TMPDIR: folder,
    NO_COLOR: '1',
    ...program.environment,
    BASE_URL: program.origin(),
    API_KEY: program.account.apiKey,
    CARRIER_PORT: String(await freePort()),
  };
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const path = (name: string): string => join(import.meta.dirname, name);

function run(name: string): Promise<{ code: number; shown: string }> {
  return new Promise((resolve) => {
    execFile('bash', [path(name)], { env: environment, timeout: MAX_RUN_MS }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), shown: `${stdout}${stderr}` }),
    );
  });
}

test('the machine has the bash and curl that the examples need', async () => {
  for (const tool of ['bash', 'curl'])
    await expect(promisify(execFile)(tool, ['--version']), `install ${tool}`).resolves.toBeDefined();
});

test('every example is run here, and listed in the README', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /\.(sh|mjs)$/.test(name));
  expect(files).toEqual([...Object.keys(EXAMPLES), ...WEBHOOKS, BOT].toSorted());
  const readme = readFileSync(path('README.md'), 'utf8');
  for (const file of files) expect(readme).toContain(`(${file})`);
});

test.each(Object.entries(EXAMPLES))('%s does what it says', { timeout: TIMEOUT_MS }, async (name, patterns) => {
  const { code, shown } = await run(name);
  expect(code, shown).toBe(0);
  let rest = shown;
  for (const pattern of patterns) {
    const at = rest.search(pattern);
    expect(at, `${pattern} is missing in:\n${shown}`).toBeGreaterThanOrEqual(0);
    rest = rest.slice(at + 1);
  }
});

/** Starts a process of an example; `output` returns everything that it has printed so far. */
function start(command: string, args: readonly string[], more: Readonly<Record<string, string>>) {
  const child: ChildProcess = spawn(command, args, { env: { ...environment, ...more }, stdio: 'pipe' });
  onTestFinished(() => void child.kill());
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return { child, output: () => text, exit: once(child, 'exit') };
}

test('03: the receiver is registered, verifies what it is sent, and rejects unsigned requests', {
  timeout: TIMEOUT_MS,
}, async () => {
  const secretFile = join(folder, 'secret');
  const url = `https://localhost:${port}/`;
  const register = start('bash', [path('03-webhook-register.sh')], { CALLBACK_URL: url, SECRET_FILE: secretFile });
  await until('the secret', () => existsSync(secretFile) && readFileSync(secretFile, 'utf8') !== '');
  const receiver = start(process.execPath, [path('03-webhook-receiver.mjs')], {
    WEBHOOK_SECRET: readFileSync(secretFile, 'utf8'),
    PORT: String(port),
    TLS_CERT: join(folder, 'cert.pem'),
    TLS_KEY: join(folder, 'key.pem'),
  });
  await until('the receiver', () => receiver.output().includes('listening'));
  register.child.stdin?.end('\n');
  const [code] = await register.exit;
  expect(code, register.output()).toBe(0);
  expect(register.output()).toContain('"acknowledged":true');
  await until('both events', () => /: accepted\n[^]*: delivered\n/.test(receiver.output()));
  expect(receiver.output()).not.toContain('refused');

  const curl = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', join(folder, 'cert.pem'), '-d', '{}', url];
  const withoutKey = start('curl', curl, {});
  await withoutKey.exit;
  expect(withoutKey.output()).toBe('401');
  await until('the refusal', () => receiver.output().includes('refused'));
});
