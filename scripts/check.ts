// `npm run check`: everything that can be checked without running the tests. Runs all steps, even after one has failed, as
// many at a time as there are cores, and prints the output of failed steps only. `npm run check -- types lint` runs the
// steps whose names begin with one of these words.
import { exec } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';

type Step = readonly [name: string, command: string];

/** Name and command of each step: first the one that takes longest, then in the order in which failures are best fixed. */
const STEPS: readonly Step[] = [
  ['types', 'tsc -p .'],
  ['types of the console', 'tsc -p web'],
  ['types of the console tests', 'tsc -p web/e2e'],
  ['lint', 'oxlint --format=unix .'],
  ['format', 'biome format --reporter=concise .'],
  ['imports', 'node scripts/check-dependencies.ts'],
  ['conventions', 'node scripts/check-conventions.ts'],
  ['dead code', 'knip --no-progress'],
  ['configuration.md', 'node scripts/generate-configuration.ts --check'],
  ['carriers.md', 'node scripts/generate-carriers.ts --check'],
  ['errors.md', 'node scripts/generate-errors.ts --check'],
  ['limits.md', 'node scripts/generate-limits.ts --check'],
  ['whatsapp-errors.md', 'node scripts/generate-whatsapp-errors.ts --check'],
  ['openapi.json', 'node scripts/generate-openapi.ts --check'],
  ['schema.d.ts', 'node scripts/generate-client.ts --check'],
  ['operations.md', 'node scripts/generate-operations.ts --check'],
  ['commands.md', 'node scripts/generate-commands.ts --check'],
  ['corpus.json', 'node scripts/generate-ssrf-corpus.ts --check'],
  ['THIRD-PARTY-NOTICES.md', 'node scripts/generate-notices.ts --check'],
  ['site of the documentation', 'node scripts/build-docs.ts'],
];

const root = join(import.meta.dirname, '..');
const PATH = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);

function passes([name, command]: Step): Promise<boolean> {
  const start = performance.now();
  const options = { cwd: root, env: { ...process.env, PATH, NO_COLOR: '1' }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    exec(command, options, (error, stdout, stderr) => {
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${error === null ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
      if (error !== null) console.log(`\n$ ${command}\n${stdout}${stderr}`);
      resolve(error === null);
    });
  });
}

/** The steps that the command line names by the beginnings of their names; all of them if it names none. */
function selectSteps(names: readonly string[]): typeof STEPS {
  const unknown = names.filter((name) => !STEPS.some(([step]) => step.startsWith(name)));
  if (unknown.length > 0) {
    const known = STEPS.map(([step]) => `  ${step}`).join('\n');
    console.error(`No check begins with ${unknown.map((name) => `"${name}"`).join(' or ')}. The checks are:\n${known}`);
    process.exit(2);
  }
  return STEPS.filter(([step]) => names.length === 0 || names.some((name) => step.startsWith(name)));
}

const steps = selectSteps(process.argv.slice(2));
const waiting = [...steps];
let failed = 0;
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) if (!(await passes(step))) failed++;
  }),
);
console.log(failed === 0 ? `Checks passed: ${steps.length}.` : `Checks failed: ${failed} of ${steps.length}.`);
if (failed > 0) process.exitCode = 1;
