import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { LANGUAGES } from '../src/api/data.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'web/dist');

/**
 * Bytes that a page loads: script and style, the same with the texts of one language (both by gzip), and everything by
 * Brotli; and the number of files.
 */
type Size = { readonly code: number; readonly gzip: number; readonly brotli: number; readonly files: number };
/**
 * The pages that a day begins with. In each of them are 67 kB of React, 36 kB of router and queries, 23 kB of Mantine and
 * 16 kB of i18next.
 */
const FIRST_PAGES = ['sign-in/page', 'overview/page', 'messages/page', 'inbox/page', 'campaigns/listing-page'].map(
  (name) => `src/${name}.tsx`,
);
const FIRST: Size = { code: 240_000, gzip: 250_000, brotli: 225_000, files: 40 };
const ANY: Size = { code: 281_000, gzip: 292_000, brotli: 265_000, files: 60 };

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
  const texts = textsOf(page, language);
  const names = [entry(), page, ...texts].flatMap((name) => [...closure(name)]);
  const files = [...new Set(names.flatMap((name) => [at(name).file, ...(at(name).css ?? [])]))];
  const gzip = await sum(files, '.gz');
  const ofTexts = await sum(
    texts.map((name) => at(name).file),
    '.gz',
  );
  return { code: gzip - ofTexts, gzip, brotli: await sum(files, '.br'), files: files.length };
}

async function sum(files: readonly string[], ending: string): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(DIST, `${file}${ending}`))).size));
  return sizes.reduce((total, size) => total + size, 0);
}

/** The largest of each figure. */
function largest(sizes: readonly Size[]): Size {
  const of = (figure: keyof Size): number => Math.max(...sizes.map((each) => each[figure]));
  return { code: of('code'), gzip: of('gzip'), brotli: of('brotli'), files: of('files') };
}

test('the first load of each page stays within its limits of compressed script and style, and of files', async () => {
  const pages = pagesOf();
  expect(pages).toEqual(expect.arrayContaining(FIRST_PAGES));
  const sizes: Record<string, Size> = {};
  for (const page of pages)
    sizes[page] = largest(await Promise.all(LANGUAGES.map((language) => sizeOf(page, language))));
  const tooLarge = Object.entries(sizes).filter(([page, size]) => {
    const limit = FIRST_PAGES.includes(page) ? FIRST : ANY;
    return (Object.keys(limit) as (keyof Size)[]).some((figure) => size[figure] > limit[figure]);
  });
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
