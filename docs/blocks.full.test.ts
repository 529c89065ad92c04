import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programsOf, type Step, stepsOf } from '../test/support/doc-blocks.ts';
import { startReader } from '../test/support/doc-shell.ts';
import { isInstalled } from '../test/support/installed.ts';
import { PAGES } from './pages-that-run.ts';

const ROOT = join(import.meta.dirname, '..');

const startOf = (commands: string): Step[] => [
  { kind: 'commands', line: 0, mode: 'start', text: 'npm start', shown: null },
  { kind: 'commands', line: 0, mode: 'run', text: commands, shown: null },
];

const stepsIn = async (page: string): Promise<Step[]> => stepsOf(await readFile(join(ROOT, page), 'utf8'));
const missingIn = async (page: string): Promise<string[]> =>
  [...programsOf(await stepsIn(page))].filter((program) => !isInstalled(program));

test.each(Object.entries(PAGES))(
  '%s: every block of commands works in its order, and prints what is shown',
  {
    timeout: 900_000,
  },
  async (page, { before }) => {
    const steps = await stepsIn(page);
    expect(steps.length).toBeGreaterThan(0);
    const missing = await missingIn(page);
    const isLeftOut = (step: Step): boolean => step.kind === 'commands' && missing.includes(step.needs ?? '');
    await using reader = await startReader();
    for (const step of [...(before === undefined ? [] : startOf(before)), ...steps.filter((one) => !isLeftOut(one))])
      await reader.follow(step).catch((error: unknown) => {
        throw new Error(`${page}:${step.line}: ${error instanceof Error ? error.message : String(error)}`);
      });
  },
);

const leftOut = await Promise.all(
  Object.keys(PAGES).map(async (page) => (await missingIn(page)).map((program) => [page, program] as const)),
);

test.for(leftOut.flat())('%s: the blocks that need %s', ([, program], { skip }) => skip(`${program} is not installed`));
