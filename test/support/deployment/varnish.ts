import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { isInstalled } from '../installed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

/** Returns why Varnish cannot take part, or undefined if it can. */
export const varnishIsMissing = (): string | undefined =>
  isInstalled('varnishd') ? undefined : "Varnish is not installed: the Debian package is 'varnish'";

/** The path for which `startVarnish` asks another server. */
export const CONTROL_PATH = '/control';

/**
 * Starts the real Varnish in front of the program with its built-in rules, as if TLS ended one step before it; in front
 * of `control` for the path of that name.
 */
export async function startVarnish(
  origin: string,
  control: string,
): Promise<AsyncDisposable & { readonly origin: string }> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-varnish-');
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const backendOf = (name: string, at: string): string => {
    const { hostname, port: backendPort } = new URL(at);
    return `backend ${name} { .host = "${hostname}"; .port = "${backendPort}"; }\n`;
  };
  const rules =
    `vcl 4.1;\n${backendOf('default', origin)}${backendOf('control', control)}` +
    `sub vcl_recv {\n  set req.http.X-Forwarded-Proto = "https";\n` +
    `  if (req.url == "${CONTROL_PATH}") { set req.backend_hint = control; }\n}\n`;
  await writeFile(join(folder, 'default.vcl'), rules);
  const child = spawn(
    'varnishd',
    // The user of the test, and no port for its commands.
    [
      '-F',
      '-a',
      `127.0.0.1:${port}`,
      '-f',
      join(folder, 'default.vcl'),
      '-n',
      folder,
      '-s',
      'malloc,16m',
      '-j',
      'none',
      '-T',
      'none',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = once(child, 'exit');
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  opened.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until('Varnish', async () => {
    if (child.exitCode !== null) throw new Error(log);
    return fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
  });
  const all = opened.move();
  return { origin: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
