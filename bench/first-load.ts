import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { build } from 'vite';
import { removeDataDir } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { launchBrowser } from '../web/e2e/browser.ts';
import { API, type Backend, openBackend } from './lib/backend.ts';
import type { Report } from './lib/report.ts';
import { p50 } from './lib/times.ts';

const ROOT = join(import.meta.dirname, '..');
/** Compression options of the console (scripts/build-console.ts). */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
const LOADS = Number(process.argv[3] ?? 15);
const WARM_UP = 1;
/** A cheap phone or an old laptop, at a slow line. */
const SLOWED_CPU = 4;
const BYTES_PER_SECOND = 10_000_000 / 8;
const LATENCY_MS = 20;
/** The aim is 2.5 s for the slowest page, on a machine where the empty one takes 0.54 s. */
const MAX_TIMES_EMPTY = 4.6;

/** A page, and the heading that it shows as soon as people can use it. */
type Opened = { readonly url: string; readonly heading: string; readonly isSignedIn?: boolean };

/**
 * Opens the sign-in page and the overview, and an empty page of Mantine from the same build tools, in turns, each time
 * in a browser without a cache, with a CPU slowed down four times and 10 Mbit/s. The times are until the page's heading
 * is there.
 */
export async function benchFirstLoad(): Promise<Report> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-console.ts')]);
  await using backend = await openBackend();
  await using empty = await serveEmptyPage();
  await using browser = await launchBrowser();
  const pages: Readonly<Record<string, Opened>> = {
    empty: { url: empty.url, heading: 'Empty' },
    signIn: { url: `${backend.address}/sign-in`, heading: 'Sign in' },
    overview: { url: `${backend.address}/`, heading: 'Overview', isSignedIn: true },
  };
  const times: Record<string, number[]> = { empty: [], signIn: [], overview: [] };
  for (let i = -WARM_UP; i < LOADS; i++)
    for (const [name, page] of Object.entries(pages)) {
      const taken = await timeLoad(browser, backend, page);
      if (i >= 0) times[name]?.push(taken);
    }
  const [least, ...others] = Object.values(times).map(p50);
  const worst = Math.max(...others) / (least ?? 0);
  const medians = Object.fromEntries(Object.entries(times).map(([name, taken]) => [`${name}.p50Ms`, p50(taken)]));
  const figures = { loads: LOADS, ...medians, worstTimesEmpty: worst };
  return { name: 'first-load', ratio: MAX_TIMES_EMPTY / worst, target: 1, figures };
}

async function timeLoad(browser: Browser, backend: Backend, { url, heading, isSignedIn }: Opened): Promise<number> {
  const context = await browser.newContext({ locale: 'en-GB' });
  try {
    if (isSignedIn) {
      const { username, password } = backend.gateway.ready['demo'] as { username: string; password: string };
      const headers = { 'x-heliograph-console': '1', origin: backend.address };
      await context.request.post(`${backend.address}${API}/session`, { data: { username, password }, headers });
    }
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    const line = { downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND, latency: LATENCY_MS };
    await devtools.send('Network.emulateNetworkConditions', { offline: false, ...line });
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWED_CPU });
    const start = performance.now();
    await page.goto(url, { waitUntil: 'commit' });
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    return performance.now() - start;
  } finally {
    await context.close();
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/** Builds web/empty.html into a separate folder and serves it, compressed as the console is. */
async function serveEmptyPage(): Promise<AsyncDisposable & { readonly url: string }> {
  const outDir = await temporaryFolder('heliograph-bench-');
  const options = { outDir, emptyOutDir: true, rolldownOptions: { input: join(ROOT, 'web/empty.html') } };
  await build({ configFile: join(ROOT, 'web/vite.config.ts'), logLevel: 'warn', build: options });
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(outDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(`/${relative(outDir, path)}`, brotliCompressSync(await readFile(path), BROTLI));
  }
  const server = createServer((request, answer) => {
    const path = new URL(request.url ?? '', 'http://localhost').pathname;
    const headers = { 'content-type': TYPES[extname(path)] ?? 'text/plain', 'content-encoding': 'br' };
    answer.writeHead(files.has(path) ? 200 : 404, headers).end(files.get(path));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/empty.html`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await removeDataDir(outDir);
    },
  };
}
