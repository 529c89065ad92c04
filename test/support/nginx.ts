import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { isInstalled } from './installed.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

const CONFIGURATION = new URL('../../deploy/cells/nginx.conf', import.meta.url);

/** Returns why nginx cannot take part, or undefined if it can. */
export const nginxIsMissing = (): string | undefined =>
  isInstalled('nginx') ? undefined : "nginx is not installed: the Debian package is 'nginx'";

/** Addresses of the directory and the cells: host and port. */
export type Behind = { readonly directory: string; readonly cells: readonly [string, string] };

export type RunningNginx = {
  /** The origin at which it listens, with plain HTTP. */
  readonly origin: string;
  /** Returns its log: errors of nginx, and of the servers behind it. */
  log(): Promise<string>;
  stop(): Promise<void>;
};

/** Runs nginx with the configuration of deploy/cells, in which only names, addresses and certificates are replaced. */
export async function startNginx(behind: Behind): Promise<RunningNginx> {
  const folder = await temporaryFolder('heliograph-test-nginx-');
  const port = await freePort();
  await writeFile(join(folder, 'cells.conf'), await configurationOf(behind, port));
  await writeFile(join(folder, 'nginx.conf'), mainOf(folder));
  const log = join(folder, 'error.log');
  const child = spawn('nginx', ['-p', folder, '-e', log, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  await until('nginx', async () => {
    if (child.exitCode !== null) throw new Error(`nginx refuses its configuration: ${await readFile(log, 'utf8')}`);
    return fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.arrayBuffer().then(() => true),
      () => false,
    );
  });
  return {
    origin: `http://127.0.0.1:${port}`,
    log: () => readFile(log, 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

async function configurationOf({ directory, cells }: Behind, port: number): Promise<string> {
  const replacements: readonly (readonly [from: string, to: string])[] = [
    ['127.0.0.1:8090', directory],
    ['cell-0.internal:8080', cells[0]],
    ['cell-1.internal:8080', cells[1]],
    ['listen 443 ssl;', `listen 127.0.0.1:${port};`],
    ['ssl_certificate /etc/ssl/gateway.pem;', ''],
    ['ssl_certificate_key /etc/ssl/gateway.key;', ''],
    // The cells refuse plain HTTP: as if TLS ended one step before.
    ['X-Forwarded-Proto $scheme;', 'X-Forwarded-Proto https;'],
  ];
  return replacements.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/cells/nginx.conf has no ${from}`);
      return text.replaceAll(from, to);
    },
    await readFile(CONFIGURATION, 'utf8'),
  );
}

/** The worker keeps the user of the master, so that the folder of the test is its own. */
const mainOf = (folder: string): string => `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${join(folder, 'pid')};
events { worker_connections 4096; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${join(folder, of)};`).join(' ')}
  include ${join(folder, 'cells.conf')};
}
`;
