import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { BASE, CLASS_NAMES } from '../mantine-styles.ts';

const MANTINE = join(import.meta.dirname, '../../node_modules/@mantine/core');

test('every style sheet of a component of Mantine is loaded with its script', () => {
  const sheets = globSync('styles/*.layer.css', { cwd: MANTINE }).map((file) => basename(file, '.layer.css'));
  const scripts = globSync('esm/**/*.module.mjs', { cwd: MANTINE }).map(
    (file) => CLASS_NAMES.exec(join(MANTINE, file))?.[1],
  );
  expect(scripts.length).toBeGreaterThan(50);
  // MantineProvider writes what is in `default-css-variables`.
  expect([...scripts, ...BASE, 'default-css-variables'].sort()).toEqual(sheets.sort());
});
