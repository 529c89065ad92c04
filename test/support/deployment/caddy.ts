import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { TEST_CERT, TEST_KEY } from '../http/certificate.ts';
import { isInstalled } from '../installed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { replaceOnce } from './replace-once.ts';

/** Returns why Caddy cannot take part, or undefined if it can. */
export const caddyIsMissing = (): string | undefined =>
  isInstalled('caddy') ? undefined : "Caddy is not installed: the Debian package is 'caddy'";

export type Caddy = AsyncDisposable & {
  /** Its origin, with the certificate `TEST_CERT`. It listens at 127.0.0.1. */
  readonly origin: string;
  /** The origin that redirects to HTTPS. */
  readonly plainOrigin: string;
};

/**
 * Starts the real Caddy in front of the program, with a Caddyfile of which only the name, the certificate and addresses are
 * replaced.
 *
 * @param caddyfile for gateway.example.com, with the program at 127.0.0.1:8080
 * @param origin of the program
 */
export async function startCaddy(caddyfile: string, origin: string): Promise<Caddy> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-caddy-');
  opened.defer(() => rm(folder, { recursive: true }));
  const [plain, tls] = [await freePort(), await freePort()];
  await Promise.all([
    writeFile(join(folder, 'cert.pem'), TEST_CERT),
    writeFile(join(folder, 'key.pem'), TEST_KEY),
    writeFile(
      join(folder, 'Caddyfile'),
      `{\n\tadmin off\n\thttp_port ${plain}\n\thttps_port ${tls}\n\tdefault_bind 127.0.0.1\n}\n` +
        replaceOnce('the Caddyfile', caddyfile, {
          'gateway.example.com {': 'localhost {\n\ttls cert.pem key.pem',
          '127.0.0.1:8080': new URL(origin).host,
        }),
    ),
  ]);
  const child = spawn('caddy', ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'], {
    cwd: folder,
    // It keeps certificates and its last configuration in the home folder.
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  opened.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const plainOrigin = `http://localhost:${plain}`;
  await until('Caddy', async () => {
    if (child.exitCode !== null) throw new Error(log);
    return fetch(plainOrigin, { redirect: 'manual' }).catch(() => undefined);
  });
  const all = opened.move();
  return { origin: `https://localhost:${tls}`, plainOrigin, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
