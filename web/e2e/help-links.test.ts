import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf } from '../../help/markdown.ts';
import { planPages } from '../../help/plan.ts';

const ROOT = join(import.meta.dirname, '../..');
const HELP = /\bhelp="([^"]+)"/g;

/** The sections of the documentation that pages of the console link to, with their files. */
const links = globSync('web/src/**/*.tsx', { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(HELP)].map(([, help = '']) => ({ file, help })),
);

test('the pages whose first step needs an explanation link to it', () => {
  expect(links.length).toBeGreaterThanOrEqual(13);
});

test.each(links)('$file links to a page and a heading that exist: $help', async ({ help }) => {
  const { pages } = await planPages();
  const [page = '', anchor = ''] = help.split('#');
  const source = [...pages].find(([, place]) => place === `${page}.md`)?.[0];
  expect(source, `a page ${page}`).toBeDefined();
  expect(anchorsOf(readFileSync(join(ROOT, source ?? ''), 'utf8'))).toContain(anchor);
});
