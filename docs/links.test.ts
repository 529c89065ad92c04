import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, replaceLinks } from '../help/markdown.ts';

const ROOT = join(import.meta.dirname, '..');
/** Folders whose pages are not ours, or come and go. */
const FOREIGN = /(^|\/)(node_modules|dist|data|coverage|shots)(\/|$)/;
const ELSEWHERE = /^[a-z][a-z0-9+.-]*:/i;

function linksOf(text: string): string[] {
  const links: string[] = [];
  replaceLinks(text, (link) => {
    links.push(link);
    return link;
  });
  return links;
}

/** Returns the error in a link of a page, or null. */
async function faultOf(page: string, link: string): Promise<string | null> {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), decodeURIComponent(path));
  const where = `${relative(ROOT, page)} → ${link}`;
  if (!existsSync(target)) return `${where}: there is no such file`;
  if (anchor === undefined || !target.endsWith('.md')) return null;
  return anchorsOf(await readFile(target, 'utf8')).has(anchor) ? null : `${where}: there is no such heading`;
}

async function listPages(): Promise<string[]> {
  const pages = await Array.fromAsync(
    glob(['**/*.md', '.github/**/*.md'], { cwd: ROOT, exclude: (path) => FOREIGN.test(path) }),
  );
  return pages.filter((path) => !FOREIGN.test(path)).map((path) => join(ROOT, path));
}

test('every link between the pages of the repository leads to a file and to a heading that exist', async () => {
  const pages = await listPages();
  expect(pages.length).toBeGreaterThan(30);
  const faults: (string | null)[] = [];
  for (const page of pages) {
    const links = linksOf(await readFile(page, 'utf8')).filter((link) => !ELSEWHERE.test(link));
    faults.push(...(await Promise.all(links.map((link) => faultOf(page, link)))));
  }
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

test('a link to a heading or a file that does not exist is found, and one in code is none', async () => {
  const page = join(ROOT, 'docs', 'README.md');
  expect(await faultOf(page, '#no-such-heading')).toMatch(/no such heading/);
  expect(await faultOf(page, 'no-such-page.md#runbooks')).toMatch(/no such file/);
  expect(await faultOf(page, '#runbooks')).toBeNull();
  expect(linksOf('`[a](b)` [c](d.md)\n```\n[e](f)\n```\n')).toEqual(['d.md']);
  expect([...anchorsOf('# A “b” & c: d_e\n## A\n## A\n```\n# no\n```\n')]).toEqual(['a-b--c-d_e', 'a', 'a-1']);
});
