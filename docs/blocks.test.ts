import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isShown, stepsOf } from '../test/support/doc-blocks.ts';
import { PAGES } from './pages-that-run.ts';

const ROOT = join(import.meta.dirname, '..');

test('each page that is run marks as many blocks with norun as are known, and no more', async () => {
  const found: Record<string, number> = {};
  for (const page of Object.keys(PAGES)) {
    const steps = stepsOf(await readFile(join(ROOT, page), 'utf8'));
    found[page] = steps.filter((step) => step.kind === 'commands' && step.mode === 'norun').length;
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(PAGES).map(([page, { norun }]) => [page, norun])));
});

test('a block of sh in a page of docs that is not run says so', async () => {
  const pages = await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }));
  const silent: string[] = [];
  for (const page of pages.filter((name) => PAGES[name] === undefined))
    if (/^ *```(?:sh|bash)(?! norun$)/m.test(await readFile(join(ROOT, page), 'utf8'))) silent.push(page);
  expect(silent).toEqual([]);
});

test('every block in a page of docs names its language, so that it is highlighted', async () => {
  const pages = await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }));
  const bare: string[] = [];
  for (const page of pages) {
    const fences = (await readFile(join(ROOT, page), 'utf8')).split('\n').filter((line) => /^ *```/.test(line));
    // Of each two, the first opens a block.
    if (fences.some((line, place) => place % 2 === 0 && line.trim() === '```')) bare.push(page);
  }
  expect(bare).toEqual([]);
});

test('tutorials and how-to guides with blocks of commands are run', async () => {
  const pages = await Array.fromAsync(glob('docs/{tutorials,how-to}/*.md', { cwd: ROOT }));
  const left = pages.filter((page) => PAGES[page] === undefined);
  for (const page of left) expect(stepsOf(await readFile(join(ROOT, page), 'utf8')), page).toEqual([]);
});

test('the pages that people write stay short: 36,000 words in all, without blocks, decisions and generated pages', async () => {
  const pages = await Array.fromAsync(
    glob('docs/**/*.md', { cwd: ROOT, exclude: (path) => path.includes('decisions') }),
  );
  expect(pages.length).toBeGreaterThan(50);
  let words = 0;
  for (const page of pages) {
    const text = await readFile(join(ROOT, page), 'utf8');
    if (/page is generated/.test(text)) continue;
    const prose = text.replace(/^ *```.*\n[^]*?^ *```.*$/gm, '').replace(/\]\([^)]*\)/g, ']');
    words += prose.match(/\S*\w\S*/g)?.length ?? 0;
  }
  expect(words).toBeGreaterThan(10_000);
  expect(words).toBeLessThan(36_000);
});

const page = (...blocks: string[]): string => blocks.map((block) => `Text.\n\n${block}\n`).join('\n');

test('the blocks of a page are read with their output and the files to save', () => {
  const text = page(
    '```sh start\nnpm start\n```',
    '```js file=data/a.mjs\nrun();\n```',
    '1. Do:\n\n   ```sh\n   a\n   b\n   ```',
    '```json\n{}\n```',
    '```sh norun\nrm\n```',
    '```text\nno output of it\n```',
    '```sh needs=php\nb\n```',
    '```text file=data/b.txt\nc\n```',
    '```sh repeat needs=php\nd\n```',
    '```text\ne\n```',
  );
  expect(stepsOf(text)).toEqual([
    { kind: 'commands', line: 3, mode: 'start', text: 'npm start\n', shown: null },
    { kind: 'file', line: 9, path: 'data/a.mjs', text: 'run();\n' },
    { kind: 'commands', line: 17, mode: 'run', text: 'a\nb\n', shown: { language: 'json', text: '{}\n' } },
    { kind: 'commands', line: 30, mode: 'norun', text: 'rm\n', shown: null },
    { kind: 'commands', line: 42, mode: 'run', text: 'b\n', shown: null, needs: 'php' },
    { kind: 'file', line: 48, path: 'data/b.txt', text: 'c\n' },
    { kind: 'commands', line: 54, mode: 'repeat', text: 'd\n', shown: { language: 'text', text: 'e\n' }, needs: 'php' },
  ]);
});

test.each([
  ['a block without a language', '```\na\n```'],
  ['"norum" after sh', '```sh norum\na\n```'],
  ['"needs=" after sh', '```sh needs=\na\n```'],
  ['repeat until what is shown?', '```sh repeat\na\n```'],
])('%s is refused with its line', (message, block) => {
  expect(() => stepsOf(page(block))).toThrow(`line 3: ${message}`);
});

test.each([
  [true, 'json', '{ "a": "…", "b": [1] }', '{"a":"x","b":[1]}'],
  [false, 'json', '{ "a": "…", "b": [1] }', '{"a":"x","b":[12]}'],
  [true, 'json', '{ "a": 1, … }', '{"a":1,"b":{"c":2}}'],
  [false, 'json', '{ "a": 1 }', '{"a":1}{"a":1}'],
  [true, 'text', 'id …: sent\n', 'id 12: sent\n'],
  [false, 'text', 'id …: sent', 'id 12\n: sent'],
  [true, 'text', '…\nlast', 'last'],
  [true, 'text', '…\nlast', 'first\nsecond\nlast'],
  [false, 'text', '…\nlast', 'not last'],
  [true, 'console', 'a\n…', 'a  \nb\nc'],
  [false, 'text', 'a.c', 'abc'],
  [true, 'text', 'a\nb', 'a\r\nb\r\n'],
])('%s: %s shown as %j, printed as %j', (right, language, text, printed) => {
  expect(isShown({ language, text }, printed)).toBe(right);
});
