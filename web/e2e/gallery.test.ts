import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NOT_SHOWN } from '../src/gallery/not-shown.ts';

const SRC = join(import.meta.dirname, '../src');
const components = globSync('**/*.tsx', { cwd: join(SRC, 'ui') });
const gallery = globSync('*.tsx', { cwd: join(SRC, 'gallery') }).map((file) =>
  readFileSync(join(SRC, 'gallery', file), 'utf8'),
);
const shown = components.filter((file) => gallery.some((source) => source.includes(`'../ui/${file}'`)));

test('every component of the console is in the gallery, or is named there with the reason why not', () => {
  expect([...shown, ...Object.keys(NOT_SHOWN)].sort()).toEqual([...components].sort());
  for (const reason of Object.values(NOT_SHOWN)) expect(reason).toMatch(/^[A-Z].{20,}\.$/);
});

test('the gallery is not part of the build: only its own page imports it', () => {
  for (const file of globSync('**/*.{ts,tsx}', { cwd: SRC, exclude: ['gallery/**'] }))
    expect(readFileSync(join(SRC, file), 'utf8'), file).not.toMatch(/from '.*\/gallery\//);
});
