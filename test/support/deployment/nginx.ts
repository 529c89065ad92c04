import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { TEST_CERT, TEST_KEY } from '../http/certificate.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { replaceOnce } from './replace-once.ts';

const CONFIGURATION = new URL('../../../deploy/nginx/nginx.conf', import.meta.url);

/** Returns why nginx cannot take part, or undefined if it can. */
export const nginxIsMissing = (): string | undefined =>
  spawnSync('nginx', ['-v']).status === 0 ? undefined : "nginx is not installed: the Debian package is 'nginx-light'";

export type Nginx = AsyncDisposable & {
  /** Its origin, with the certificate `TEST_CERT`. */
  readonly origin: string;
  /** The origin that redirects to HTTPS. */
  readonly plainOrigin: string;
};

/**
 * Starts the real nginx with the configuration of `deploy/nginx`, of which only addresses and paths are replaced, in
 * front of two `api` processes.
 *
 * @param origins of the api processes
 */
export async function startNginx(origins: readonly [string, string]): Promise<Nginx> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-nginx-');
  opened.defer(() => rm(folder, { recursive: true }));
  const [plain, tls] = [await freePort(), await freePort()];
  const [cert, key, file] = ['cert.pem', 'key.pem', 'nginx.conf'].map((name) => join(folder, name));
  if (cert === undefined || key === undefined || file === undefined) throw new Error('no paths');
  await Promise.all([writeFile(cert, TEST_CERT), writeFile(key, TEST_KEY)]);
  await writeFile(
    file,
    replaceOnce('nginx.conf', readFileSync(CONFIGURATION, 'utf8'), {
      'listen [::]:80 default_server;': '',
      'listen [::]:443 ssl http2 default_server;': '',
      'listen 80 ': `listen 127.0.0.1:${plain} `,
      'listen 443 ': `listen 127.0.0.1:${tls} `,
      '/etc/nginx/tls/cert.pem': cert,
      '/etc/nginx/tls/key.pem': key,
      'server api-1:8080 ': `server ${new URL(origins[0]).host} `,
      'server api-2:8080 ': `server ${new URL(origins[1]).host} `,
    }),
  );
  const globals = `daemon off; pid ${join(folder, 'nginx.pid')};`;
  const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file, '-g', globals], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  opened.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const plainOrigin = `http://127.0.0.1:${plain}`;
  await until('nginx', async () => {
    if (child.exitCode !== null) throw new Error(errors);
    return fetch(plainOrigin, { redirect: 'manual' }).catch(() => undefined);
  });
  const all = opened.move();
  return { origin: `https://127.0.0.1:${tls}`, plainOrigin, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
