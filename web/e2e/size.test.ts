import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { LANGUAGES } from '../src/api/languages.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'web/dist');
const MAX_BYTES = 245_000;

type Chunk = {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
};

let chunks: ReadonlyMap<string, Chunk>;
beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-console.ts')]);
  chunks = new Map(Object.entries(JSON.parse(await readFile(join(DIST, '.vite/manifest.json'), 'utf8'))));
});

/** The chunk and everything it imports statically. */
function closure(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const next of chunks.get(name)?.imports ?? []) closure(next, found);
  return found;
}

async function gzipped(names: Iterable<string>): Promise<number> {
  const files = [...names].map((name) => chunks.get(name)?.file ?? '').filter((file) => file.endsWith('.js'));
  const sizes = await Promise.all([...new Set(files)].map(async (file) => (await stat(join(DIST, `${file}.gz`))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('the first load of every page is below 245 kB of compressed script, including the texts of one language', async () => {
  const entry = [...chunks].find(([, { isEntry }]) => isEntry)?.[0] ?? '';
  const start = chunks.get(entry)?.dynamicImports ?? [];
  const pages = start.filter((name) => /^src\/(?:[\w-]+\/)+[\w-]*page\.tsx$/.test(name));
  expect(pages.length).toBeGreaterThan(2);
  const sizes: Record<string, number> = {};
  for (const page of pages) {
    const feature = page.replace(/^(src\/[^/]+)\/.*/, '$1');
    const sizesIn = LANGUAGES.map((language) => {
      const texts = ['src/app', 'src/ui', feature].flatMap((folder) => [...closure(`${folder}/${language}.json`)]);
      return gzipped(new Set([...closure(entry), ...closure(page), ...texts]));
    });
    sizes[page] = Math.max(...(await Promise.all(sizesIn)));
  }
  const tooLarge = Object.entries(sizes).filter(([, bytes]) => bytes > MAX_BYTES);
  expect(tooLarge, JSON.stringify(sizes, null, 2)).toEqual([]);
});
