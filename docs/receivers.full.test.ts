import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stepsOf } from '../test/support/doc-blocks.ts';
import { freePort } from '../test/support/free-port.ts';
import { TEST_CERT, TEST_KEY } from '../test/support/http/certificate.ts';
import { isInstalled } from '../test/support/installed.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { until } from '../test/support/until.ts';

// Every program of the documentation that listens, before it knows who is asking. PHP is left out: what reads a body before
// the program does is PHP's own server, or the one in front of PHP-FPM.

const ROOT = join(import.meta.dirname, '..');
const SID = 'AC00000000000000000000000000000001';

type Listener = {
  /** The page and the file that it has its reader save, or a program of this repository. */
  readonly page?: string;
  readonly file: string;
  readonly command: readonly string[];
  /** Path of the request; `/` if absent. */
  readonly path?: string;
  readonly isTls?: boolean;
  /** The port that stands in the program. */
  readonly port?: string;
  readonly environment?: (port: number) => Record<string, string>;
};

const webhook = () => ({ WEBHOOK_SECRET: 'whsec_c2VjcmV0' });
const LISTENERS: readonly Listener[] = [
  { file: 'examples/03-webhook-receiver.mjs', command: ['node'], environment: webhook },
  { page: 'docs/how-to/webhooks.md', file: 'data/receiver.py', command: ['python3'], environment: webhook },
  {
    page: 'docs/how-to/webhooks.md',
    file: 'data/receiver.go',
    command: ['go', 'run'],
    isTls: true,
    environment: webhook,
  },
  {
    page: 'docs/quick-start.md',
    file: 'data/receiver.mjs',
    command: ['node'],
    isTls: true,
    port: '8443',
    environment: webhook,
  },
  {
    file: 'docs/how-to/twilio-bridge.mjs',
    command: ['node'],
    environment: () => ({
      ...webhook(),
      GATEWAY: 'http://127.0.0.1:1',
      API_KEY: 'x',
      ACCOUNT_SID: SID,
      AUTH_TOKEN: 'token',
    }),
  },
  {
    page: 'docs/how-to/from-twilio.md',
    file: 'data/old-program.mjs',
    command: ['node'],
    environment: (port) => ({ AUTH_TOKEN: 'token', OLD_URL: `http://127.0.0.1:${port}/` }),
  },
  {
    page: 'docs/how-to/provider-by-http.md',
    file: 'data/provider.mjs',
    command: ['node'],
    port: '2775',
    path: '/send',
  },
  {
    page: 'docs/how-to/embed-the-inbox.md',
    file: 'data/support.mjs',
    command: ['node'],
    path: '/chats/00000000-0000-0000-0000-000000000000/reply',
    environment: () => ({ HELIOGRAPH: 'http://127.0.0.1:1', API_KEY: 'x', SUPPORT_PASSWORD: 'right' }),
  },
];

const MIB = 1024 * 1024;
/** Maximum memory that a program may use for an unauthenticated body: as much as its runtime has in its buffers. */
const MAX_MIB = 48;
const OFFERED_MIB = 200;

async function start({ page, file, command, isTls = false, port: written, environment }: Listener) {
  const folder = await temporaryFolder('heliograph-test-receiver-');
  const port = await freePort();
  await mkdir(join(folder, 'data'));
  for (const [name, text] of [
    ['hook.pem', TEST_CERT],
    ['hook.key', TEST_KEY],
  ] as const)
    await writeFile(join(folder, 'data', name), text);
  let path = join(ROOT, file);
  if (page !== undefined) {
    const step = stepsOf(await readFile(join(ROOT, page), 'utf8')).find(
      (each) => each.kind === 'file' && each.path === file,
    );
    if (step === undefined) throw new Error(`${page} has no ${file}`);
    path = join(folder, file);
    await writeFile(path, written === undefined ? step.text : step.text.replace(written, String(port)));
  }
  const [program = '', ...words] = command;
  const files = isTls ? { TLS_CERT: join(folder, 'data/hook.pem'), TLS_KEY: join(folder, 'data/hook.key') } : {};
  const child = spawn(program === 'node' ? process.execPath : program, [...words, path], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, PORT: String(port), ...files, ...environment?.(port) },
  });
  onTestFinished(() => void child.kill());
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (log += bytes.toString()));
  await until('it to listen', () => {
    if (child.exitCode !== null) throw new Error(log);
    return log.includes('listening');
  });
  return { child, port, isTls };
}

/** The most memory that a process has had so far, in MiB. */
async function peakOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Sends a request with these headers, and then such chunks for as long as they are taken; resolves with the response. */
async function flood(
  { port, isTls }: { port: number; isTls: boolean },
  path: string,
  headers: readonly string[],
  chunk?: Buffer,
) {
  const socket = isTls
    ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : net.connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')));
  // Who has read enough closes, in the middle of what is sent.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers.join('\r\n')}\r\n\r\n`);
  for (let sent = 0; chunk && sent < OFFERED_MIB * MIB && !socket.destroyed; sent += chunk.length)
    if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  if (chunk) socket.destroy();
  await closed;
  return answer;
}

const FORGED = [
  'webhook-id: x',
  `webhook-timestamp: ${Math.floor(Date.now() / 1000)}`,
  'webhook-signature: v1,Zm9yZ2Vk',
  'content-type: application/json',
  `authorization: Basic ${Buffer.from('agent:right').toString('base64')}`,
];
const bytes = Buffer.alloc(MIB / 4, 'x');
const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

describe.each(LISTENERS.map((each) => [[each.page, each.file].join(' '), each] as const))('%s', (_name, listener) => {
  const [program = ''] = listener.command;
  const isMissing = process.platform !== 'linux' || (program !== 'node' && !isInstalled(program));

  test.skipIf(isMissing).each([
    ['a forged body without end', ['transfer-encoding: chunked'], chunk],
    ['a forged body of a length below zero', ['content-length: -1'], bytes],
  ] as const)('holds little of %s, and goes on', async (_what, length, body) => {
    const running = await start(listener);
    const before = await peakOf(running.child);
    const answer = await flood(running, listener.path ?? '/', [...FORGED, ...length], body);
    expect(answer).not.toMatch(/^HTTP\/1\.[01] 2/);
    expect((await peakOf(running.child)) - before).toBeLessThan(MAX_MIB);
    expect(await flood(running, '/nothing', [...FORGED, 'content-length: 0', 'connection: close'])).toMatch(/^HTTP/);
  });
});
