// `npm run check`: everything that can be said about the tree without running the tests. Runs all steps, also after
// one has failed, and shows the output of those alone.
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** Name and command, in the order of what to mend first. */
const STEPS: readonly (readonly [name: string, command: string])[] = [
  ['types', 'tsc -p .'],
  ['types of the console', 'tsc -p web'],
  ['types of its tests', 'tsc -p web/e2e'],
  ['lint', 'oxlint --format=unix .'],
  ['format', 'biome format --reporter=concise .'],
  ['imports', 'node scripts/check-dependencies.ts'],
  ['dead code', 'knip --no-progress'],
  ['configuration.md', 'node scripts/generate-configuration.ts --check'],
  ['carriers.md', 'node scripts/generate-carriers.ts --check'],
  ['openapi.json', 'node scripts/generate-openapi.ts --check'],
  ['schema.d.ts', 'node scripts/generate-client.ts --check'],
  ['operations.md', 'node scripts/generate-operations.ts --check'],
  ['schema.sql', 'node scripts/dump-schema.ts --check'],
  ['ssrf.json', 'node scripts/generate-ssrf-corpus.ts --check'],
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

const failed = STEPS.filter((step) => !passes(step));
console.log(
  failed.length === 0 ? `All ${STEPS.length} checks passed.` : `${failed.length} of ${STEPS.length} checks failed.`,
);
if (failed.length > 0) process.exitCode = 1;
