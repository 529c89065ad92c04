// `npm run check`: everything that can be checked without running the tests. Runs all steps, even after one has failed,
// and prints the output of failed steps only. `npm run check -- types lint` runs the steps whose names begin with one of
// these words.
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** Name and command of each step, in the order in which failures are best fixed. */
const STEPS: readonly (readonly [name: string, command: string])[] = [
  ['types', 'tsc -p .'],
  ['types of the console', 'tsc -p web'],
  ['types of the console tests', 'tsc -p web/e2e'],
  ['lint', 'oxlint --format=unix .'],
  ['format', 'biome format --reporter=concise .'],
  ['imports', 'node scripts/check-dependencies.ts'],
  ['conventions', 'node scripts/check-conventions.ts'],
  ['regex', 'node scripts/check-regex.ts'],
  ['dead code', 'knip --no-progress'],
  ['configuration.md', 'node scripts/generate-configuration.ts --check'],
  ['carriers.md', 'node scripts/generate-carriers.ts --check'],
  ['errors.md', 'node scripts/generate-errors.ts --check'],
  ['limits.md', 'node scripts/generate-limits.ts --check'],
  ['whatsapp-errors.md', 'node scripts/generate-whatsapp-errors.ts --check'],
  ['openapi.json', 'node scripts/generate-openapi.ts --check'],
  ['schema.d.ts', 'node scripts/generate-client.ts --check'],
  ['operations.md', 'node scripts/generate-operations.ts --check'],
  ['permissions.md', 'node scripts/generate-permissions.ts --check'],
  ['schema.sql', 'node scripts/dump-schema.ts --check'],
  ['corpus.json', 'node scripts/generate-ssrf-corpus.ts --check'],
  ['THIRD-PARTY-NOTICES.md', 'node scripts/generate-notices.ts --check'],
  ['site of the documentation', 'node scripts/build-docs.ts'],
];

const root = join(import.meta.dirname, '..');
const PATH = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);

function passes([name, command]: (typeof STEPS)[number]): boolean {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(command, {
    cwd: root,
    shell: true,
    encoding: 'utf8',
    env: { ...process.env, PATH, NO_COLOR: '1' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  if (status !== 0) console.log(`\n$ ${command}\n${stdout}${stderr}`);
  return status === 0;
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
const failed = steps.filter((step) => !passes(step));
console.log(
  failed.length === 0 ? `Checks passed: ${steps.length}.` : `Checks failed: ${failed.length} of ${steps.length}.`,
);
if (failed.length > 0) process.exitCode = 1;
