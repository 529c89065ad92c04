// One process runs one plan: `node test/mutation/run-plan.ts <cluster> <area> <plan as JSON> <timeout in ms> <cache>`.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVitest } from 'vitest/node';
import { AREAS } from './areas.ts';
import { instrument } from './instrument.ts';
import { makeMutants } from './make-mutants.ts';
import type { Note, Plan } from './plan.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const [clusterUrl = '', area = '', planText = '', timeoutMs = '', cache = ''] = process.argv.slice(2);
const plan = JSON.parse(planText) as Plan;
const mutants = Map.groupBy(makeMutants(AREAS[area]?.files ?? []), ({ file }) => file);

/** Changes files of the program as they are loaded; those on the disk stay as they are. */
const plugin = {
  name: 'mutation',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    const inside = mutants.get(relative(ROOT, id.split('?')[0] ?? id));
    return inside && instrument(code, inside);
  },
};

const vitest = await createVitest(
  'test',
  {
    config: false,
    root: ROOT,
    watch: false,
    pool: 'forks',
    maxWorkers: 1,
    include: [plan.testFile],
    setupFiles: [fileURLToPath(new URL('record.ts', import.meta.url))],
    reporters: [{}],
    // Files are the same for all processes of a run: the mutants are in them, and each process chooses among them.
    fsModuleCache: true,
    fsModuleCachePath: cache,
    provide: { clusterUrl, everyLayout: false },
    env: { MUTATION_PLAN: planText },
    repeats: repeatsOf(plan),
    // After a failure with a mutant, a test is tried once without it (`record.ts`).
    retry: plan.kind === 'many' ? 1 : 0,
    bail: plan.kind === 'one' ? 1 : 0,
    testTimeout: Number(timeoutMs),
    hookTimeout: 60_000,
    teardownTimeout: 2000,
  },
  { plugins: [plugin] },
);
const { testModules } = await vitest.start([plan.testFile]);
const note: Note = { kind: 'ended', failed: failureOf() };
appendFileSync(plan.notes, `${JSON.stringify(note)}\n`);
await vitest.close();
process.exit();

/** How often each test runs again: at most with each of its mutants. A test that has had them all skips the rest. */
function repeatsOf(each: Plan): number {
  if (each.kind === 'cover') return 1;
  return each.kind === 'many' ? Math.max(...Object.values(each.mutants).map((ids) => ids.length)) : 0;
}

/** The first test that failed, or why there are none; null when all passed. */
function failureOf(): string | null {
  const [module] = testModules;
  if (module === undefined) return 'there is no such test file';
  for (const test of module.children.allTests('failed')) return test.fullName;
  const [error] = module.errors();
  return error?.message ?? (module.ok() ? null : 'a hook failed');
}
