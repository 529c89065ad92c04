import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { LANGUAGES } from '../src/api/languages.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'web/dist');

/** Compressed script, style and texts of one language, and the files that they are in. */
type Size = { readonly bytes: number; readonly files: number };
/**
 * The pages that a day begins with. The aim is 200 kB. In each of them are 67 kB of React, 36 kB of router and queries,
 * 23 kB of Mantine, 16 kB of i18next and 16 kB of our own.
 */
const FIRST_PAGES: Readonly<Record<string, Size>> = {
  'src/sign-in/page.tsx': { bytes: 211_000, files: 30 },
  'src/overview/page.tsx': { bytes: 208_000, files: 30 },
  'src/messages/page.tsx': { bytes: 212_000, files: 30 },
  'src/inbox/page.tsx': { bytes: 221_000, files: 30 },
  'src/campaigns/listing/page.tsx': { bytes: 225_000, files: 30 },
};
const ANY: Size = { bytes: 256_000, files: 50 };

type Chunk = {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly css?: readonly string[];
};

let chunks: ReadonlyMap<string, Chunk>;
beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-console.ts')]);
  chunks = new Map(Object.entries(JSON.parse(await readFile(join(DIST, '.vite/manifest.json'), 'utf8'))));
});

const at = (name: string): Chunk => {
  const chunk = chunks.get(name);
  if (chunk === undefined) throw new Error(`There is no chunk ${name}`);
  return chunk;
};

/** The chunk and everything it imports statically. */
function closure(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const next of at(name).imports ?? []) closure(next, found);
  return found;
}

const entry = (): string => [...chunks].find(([, { isEntry }]) => isEntry)?.[0] ?? '';

/** All pages, which the entry imports when they are opened. */
function pagesOf(): readonly string[] {
  const loaded = [...closure(entry())].flatMap((name) => at(name).dynamicImports ?? []);
  return [...new Set(loaded)].filter((name) => /^src\/(?:[\w-]+\/)+[\w-]*page\.tsx$/.test(name));
}

/** The texts that a page waits for. */
function textsOf(page: string, language: string): readonly string[] {
  const feature = page.replace(/^(src\/[^/]+)\/.*/, '$1');
  return ['src/app', 'src/ui', feature].map((folder) => `${folder}/${language}.json`);
}

async function sizeOf(page: string, language: string): Promise<Size> {
  const names = [entry(), page, ...textsOf(page, language)].flatMap((name) => [...closure(name)]);
  const files = new Set(names.flatMap((name) => [at(name).file, ...(at(name).css ?? [])]));
  const sizes = await Promise.all([...files].map(async (file) => (await stat(join(DIST, `${file}.gz`))).size));
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: files.size };
}

test('the first load of each page stays within its limits of compressed script and style, and of files', async () => {
  const pages = pagesOf();
  expect(pages).toEqual(expect.arrayContaining(Object.keys(FIRST_PAGES)));
  const sizes: Record<string, string> = {};
  const tooLarge: string[] = [];
  for (const page of pages) {
    const limit = FIRST_PAGES[page] ?? ANY;
    const found = await Promise.all(LANGUAGES.map((language) => sizeOf(page, language)));
    const [bytes, files] = [Math.max(...found.map((each) => each.bytes)), Math.max(...found.map((each) => each.files))];
    sizes[page] = `${bytes} bytes in ${files} files`;
    if (bytes > limit.bytes || files > limit.files) tooLarge.push(page);
  }
  expect(tooLarge, JSON.stringify(sizes, null, 2)).toEqual([]);
});

test('no chunks import each other in a circle, so each is evaluated after what it needs', () => {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, above: readonly string[]): void => {
    if (above.includes(name)) circles.push([...above.slice(above.indexOf(name)), name].join(' > '));
    if (above.includes(name) || done.has(name)) return;
    for (const next of at(name).imports ?? []) visit(next, [...above, name]);
    done.add(name);
  };
  for (const name of chunks.keys()) visit(name, []);
  expect(circles).toEqual([]);
});
