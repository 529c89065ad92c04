import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GROUPS } from './groups.ts';
import { anchorsOf, replaceLinks, slugOf } from './markdown.ts';
import { addressOf, listedPages, placeLink, planPages } from './plan.ts';

const ROOT = join(import.meta.dirname, '..');

test('every page of docs has a place in the site, and no two pages have the same', async () => {
  const { pages } = await planPages();
  expect(pages.size).toBeGreaterThan(60);
  expect(new Set(pages.values()).size).toBe(pages.size);
});

test('the navigation has four groups, names no page twice, and each page that it names has its own title', async () => {
  expect(GROUPS.map(({ title }) => title)).toEqual(['Tutorials', 'How-to guides', 'Reference', 'Explanation']);
  const pages = listedPages();
  expect(new Set(pages.map(({ source }) => source)).size).toBe(pages.length);
  expect(new Set(pages.map(({ title }) => title)).size).toBe(pages.length);
});

test('every link of every page has a place: a page, a file that is copied, or no link where it led to a folder', async () => {
  const plan = await planPages();
  const places = new Set([...plan.pages.values(), 'decisions/index.md']);
  const astray: string[] = [];
  for (const [source, place] of plan.pages)
    replaceLinks(await readFile(join(ROOT, source), 'utf8'), (link) => {
      const made = placeLink(plan, source, link);
      const path = made?.split('#')[0] ?? '';
      const target = join('/', place, '..', path).slice(1);
      if (path.endsWith('.md') && !path.includes(':') && !places.has(target)) astray.push(`${source} → ${link}`);
      return made;
    });
  expect(astray).toEqual([]);
  expect([...plan.files.keys()].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  expect(plan.files.get('deploy/nginx/nginx.conf')).toBe('files/deploy/nginx/nginx.conf.txt');
});

test('a link leads to the page of a file, of a folder with a README, and to an anchor of it', async () => {
  const plan = await planPages();
  expect(placeLink(plan, 'docs/how-to/rcs.md', '../carriers.md#http')).toBe('../carriers.md#http');
  expect(placeLink(plan, 'docs/README.md', '../examples')).toBe('./examples.md');
  expect(placeLink(plan, 'README.md', 'docs/README.md#runbooks')).toBe('./index.md#runbooks');
  expect(placeLink(plan, 'README.md', 'docs/decisions')).toBe('./decisions/index.md');
  expect(placeLink(plan, 'README.md', 'deploy')).toBeNull();
  expect(placeLink(plan, 'README.md', 'https://example.com/a')).toBe('https://example.com/a');
});

test.each([
  ['docs/README.md', 'index.md'],
  ['README.md', 'install.md'],
  ['CODE_OF_CONDUCT.md', 'code-of-conduct.md'],
  ['client/README.md', 'client.md'],
  ['docs/how-to/rcs.md', 'how-to/rcs.md'],
])('%s is served as %s', (source, place) => expect(addressOf(source)).toBe(place));

test('links are replaced outside of code only, with what is in their brackets kept', () => {
  const replaced = replaceLinks('[`a`](b) `[c](d)` ![e](f)\n```\n[g](h)\n```\n[i](j)\n', (link) =>
    link === 'j' ? null : `${link}2`,
  );
  expect(replaced).toBe('[`a`](b2) `[c](d)` ![e](f2)\n```\n[g](h)\n```\ni\n');
});

test('anchors are those of forges', () => {
  expect(slugOf('Errors & “status” codes: 4xx')).toBe('errors--status-codes-4xx');
  expect([...anchorsOf('# A\n## A\n```\n# no\n```\n')]).toEqual(['a', 'a-1']);
});
