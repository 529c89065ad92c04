import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Step, stepsOf } from '../test/support/doc-blocks.ts';
import { startReader } from '../test/support/doc-shell.ts';
import { PAGES } from './pages-that-run.ts';

const ROOT = join(import.meta.dirname, '..');

const startOf = (commands: string): Step[] => [
  { kind: 'commands', line: 0, mode: 'start', text: 'npm start', shown: null },
  { kind: 'commands', line: 0, mode: 'run', text: commands, shown: null },
];

test.each(Object.entries(PAGES))(
  '%s: every block of commands works in its order, and prints what is shown',
  {
    timeout: 900_000,
  },
  async (page, { before }) => {
    const steps = stepsOf(await readFile(join(ROOT, page), 'utf8'));
    expect(steps.length).toBeGreaterThan(0);
    await using reader = await startReader();
    for (const step of [...(before === undefined ? [] : startOf(before)), ...steps])
      await reader.follow(step).catch((error: unknown) => {
        throw new Error(`${page}:${step.line}: ${error instanceof Error ? error.message : String(error)}`);
      });
  },
);
