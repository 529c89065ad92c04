// Builds the console (web/) into web/dist if its sources have changed since the last build; `npm start` runs it.
// Without the development packages it leaves the existing build alone. New files are added next to the old ones and the
// page is replaced last, so that a program that is serving web/dist, and open pages, keep working.
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { build as viteBuild } from 'vite';

const root = join(import.meta.dirname, '..');
const web = join(root, 'web');
const dist = join(web, 'dist');
const stamp = join(dist, 'built-from');
const lock = join(web, '.building');
const compress = promisify(gzip);

// Vite keeps a value that is set, and tests set `test`: any value other than `production` would bundle React's
// development build.
process.env['NODE_ENV'] = 'production';

/** How long the files of earlier builds are kept, for pages that are still open. */
const KEEP_MS = 24 * 3_600_000;
const LOCK_POLL_MS = 200;

/** Hashes everything that the result depends on. Types (client/src/schema.d.ts) do not get into it. */
async function hashOfSources(): Promise<string> {
  const sources = await readdir(join(web, 'src'), { recursive: true, withFileTypes: true });
  const files = sources
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const file of [
    ...files.sort(),
    join(web, 'index.html'),
    join(web, 'vite.config.ts'),
    join(root, 'package-lock.json'),
  ])
    hash.update(file).update(await readFile(file));
  return hash.digest('hex');
}

const isUpToDate = async (hash: string): Promise<boolean> => (await readFile(stamp, 'utf8').catch(() => '')) === hash;

/** Loads the bundler; undefined in a production installation. */
const loadVite = () => import('vite').catch(() => undefined);

async function build(bundle: typeof viteBuild, hash: string): Promise<void> {
  const start = performance.now();
  const made = await mkdtemp(join(tmpdir(), 'heliograph-console-'));
  try {
    const configFile = join(web, 'vite.config.ts');
    await bundle({ configFile, logLevel: 'warn', build: { outDir: made, emptyOutDir: true } });
    await precompress(join(made, 'assets'));
    await install(made);
    await writeFile(stamp, hash);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  console.log(`Built the console in ${((performance.now() - start) / 1000).toFixed(1)} s.`);
}

async function precompress(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.(js|css|svg|json)$/.test(name)) continue;
    await writeFile(join(folder, `${name}.gz`), await compress(await readFile(join(folder, name)), { level: 9 }));
  }
}

async function install(made: string): Promise<void> {
  const assets = join(dist, 'assets');
  await mkdir(assets, { recursive: true });
  // File names depend on the content: an existing file is left alone, because it may be being served.
  await cp(join(made, 'assets'), assets, { recursive: true, force: false });
  await cp(made, dist, { recursive: true, filter: (path) => !/index\.html$|assets$/.test(path) });
  await cp(join(made, 'index.html'), join(dist, 'index.html.new'));
  await rename(join(dist, 'index.html.new'), join(dist, 'index.html'));
  const current = new Set(await readdir(join(made, 'assets')));
  for (const name of await readdir(assets)) {
    const { mtimeMs } = await stat(join(assets, name));
    if (!current.has(name) && mtimeMs < Date.now() - KEEP_MS) await rm(join(assets, name));
  }
}

/**
 * Allows one build at a time: `npm start` and tests may begin together. A lock whose process has ended does not count.
 */
async function withLock<T>(work: () => Promise<T>): Promise<T> {
  while (!(await takeLock())) await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(): Promise<boolean> {
  const isTaken = await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
  if (isTaken) return true;
  const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function buildIfChanged(): Promise<void> {
  if (await isUpToDate(await hashOfSources())) return;
  const vite = await loadVite();
  if (vite === undefined) return;
  await withLock(async () => {
    const hash = await hashOfSources();
    if (!(await isUpToDate(hash))) await build(vite.build, hash);
  });
}

await buildIfChanged();
