import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programsOf, type Step, stepsOf } from '../test/support/doc-blocks.ts';
import { type Reader, startReader } from '../test/support/doc-shell.ts';
import { isInstalled } from '../test/support/installed.ts';
import { FIRST_PAGES, PAGES } from './pages-that-run.ts';

const ROOT = join(import.meta.dirname, '..');

const startOf = (commands: string): Step[] => [
  { kind: 'commands', line: 0, mode: 'start', text: 'npm start', shown: null },
  { kind: 'commands', line: 0, mode: 'run', text: commands, shown: null },
];

const stepsIn = async (page: string): Promise<Step[]> => stepsOf(await readFile(join(ROOT, page), 'utf8'));
const missingIn = async (page: string): Promise<string[]> =>
  [...programsOf(await stepsIn(page))].filter((program) => !isInstalled(program));

async function followPage(reader: Reader, page: string): Promise<void> {
  const steps = await stepsIn(page);
  expect(steps.length).toBeGreaterThan(0);
  const missing = await missingIn(page);
  const isLeftOut = (step: Step): boolean => step.kind === 'commands' && missing.includes(step.needs ?? '');
  for (const step of steps.filter((one) => !isLeftOut(one)))
    await reader.follow(step).catch((error: unknown) => {
      throw new Error(`${page}:${step.line}: ${error instanceof Error ? error.message : String(error)}`);
    });
}

test('the first pages work one after the other on one database, and a second time: README, quick-start, tutorials', {
  timeout: 1_800_000,
}, async () => {
  await using reader = await startReader();
  for (const page of [...FIRST_PAGES, ...FIRST_PAGES]) await followPage(reader, page);
});

test.each(Object.entries(PAGES).filter(([page]) => !FIRST_PAGES.includes(page)))(
  '%s: every block of commands works in its order, and prints what is shown',
  { timeout: 900_000 },
  async (page, { before }) => {
    await using reader = await startReader();
    for (const step of before === undefined ? [] : startOf(before)) await reader.follow(step);
    await followPage(reader, page);
  },
);

const leftOut = await Promise.all(
  Object.keys(PAGES).map(async (page) => (await missingIn(page)).map((program) => [page, program] as const)),
);

test.for(leftOut.flat())('%s: the blocks that need %s', ([, program], { skip }) => skip(`${program} is not installed`));
