// Builds the console (web/) into web/dist if its sources have changed since the last build; `npm start` runs it.
// Without the development packages it leaves the existing build alone. New files are added next to the old ones and the
// page is replaced last, so that a program that is serving web/dist, and open pages, keep working.
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { buildOnce } from './build-once.ts';

const root = join(import.meta.dirname, '..');
const web = join(root, 'web');
const dist = join(web, 'dist');
const [zip, brotli] = [promisify(gzip), promisify(brotliCompress)];

// Vite keeps a value that is set, and tests set `test`: any value other than `production` would bundle React's
// development build.
process.env['NODE_ENV'] = 'production';
// The bundler's allocator takes memory in large pieces and keeps it. So the build takes 550 MB instead of 950, and a second
// more.
process.env['MIMALLOC_ARENA_EAGER_COMMIT'] = '0';
process.env['MIMALLOC_PURGE_DELAY'] = '0';

/** Time for which the files of earlier builds are kept, for pages that are still open. */
const KEEP_MS = 24 * 3_600_000;

/** Everything that the result depends on. Types (client/src/schema.d.ts) do not get into it. */
async function listSources(): Promise<readonly string[]> {
  const sources = await readdir(join(web, 'src'), { recursive: true, withFileTypes: true });
  const files = sources
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => join(entry.parentPath, entry.name));
  const settings = ['index.html', 'vite.config.ts', 'mantine-styles.ts'].map((name) => join(web, name));
  return [...files, ...settings, join(root, 'package-lock.json'), import.meta.filename];
}

/** Loads the bundler; undefined in a production installation. */
const loadVite = () => import('vite').catch(() => undefined);

async function build(): Promise<boolean> {
  const vite = await loadVite();
  if (vite === undefined) return false;
  const start = performance.now();
  const made = await mkdtemp(join(tmpdir(), 'heliograph-console-'));
  try {
    const configFile = join(web, 'vite.config.ts');
    await vite.build({ configFile, logLevel: 'warn', build: { outDir: made, emptyOutDir: true } });
    await precompress(join(made, 'assets'));
    await install(made);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  console.log(`Built the console in ${((performance.now() - start) / 1000).toFixed(1)} s.`);
  return true;
}

/**
 * Brotli's quality. 10 makes the files a tenth smaller than gzip does, within 2.8 s of CPU; 11 would save another 2 %
 * within 6.6 s.
 */
const QUALITY = 10;

/** Compresses each file for browsers that take Brotli (by https and on the same machine), and for all others. */
async function precompress(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /\.(js|css|svg|json)$/.test(name));
  await Promise.all(names.map((name) => precompressFile(join(folder, name))));
}

async function precompressFile(path: string): Promise<void> {
  const octets = await readFile(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: octets.length };
  const [small, smaller] = await Promise.all([zip(octets, { level: 9 }), brotli(octets, { params })]);
  await Promise.all([writeFile(`${path}.gz`, small), writeFile(`${path}.br`, smaller)]);
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

await buildOnce({ stamp: join(dist, 'built-from'), lock: join(web, '.building'), sources: listSources, build });
