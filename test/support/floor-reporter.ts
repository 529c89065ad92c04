import { readFileSync, writeFileSync } from 'node:fs';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** The number of tests that passed in the last whole run that was committed, by project of vitest.config.ts. */
type Floor = Readonly<Record<string, number>>;

const FILE = new URL('../floor.json', import.meta.url);
/** Some tests are skipped for root and others for all other users. */
const MAX_SKIPPED = 5;

/**
 * Fails a whole run in which fewer tests passed than in the one that was committed last, so that tests cannot disappear
 * unnoticed, for example because a pattern no longer finds them. A whole run with more raises the figure in
 * `test/floor.json`, to be committed; CI only reads it. A change that removes tests lowers it by hand.
 */
export function floorReporter(): Reporter {
  let vitest: Vitest;
  return {
    onInit(context) {
      vitest = context;
    },
    async onTestRunEnd(modules, _errors, reason) {
      if (reason !== 'passed' || !(await isWhole(vitest, modules))) return;
      const floor = JSON.parse(readFileSync(FILE, 'utf8')) as Floor;
      const counts = countPassed(modules);
      const short = Object.entries(counts).filter(([name, count]) => count < (floor[name] ?? 0) - MAX_SKIPPED);
      for (const [name, count] of short) {
        vitest.logger.error(`Only ${count} tests of "${name}" passed; test/floor.json expects ${floor[name]}.`);
        process.exitCode = 1;
      }
      if (short.length === 0 && !process.env['CI']) raise(floor, counts);
    },
  };
}

/** Returns true if every file of the selected projects ran, without a filter by name. */
async function isWhole(vitest: Vitest, modules: readonly TestModule[]): Promise<boolean> {
  if (vitest.getGlobalTestNamePattern()) return false;
  return (await vitest.globTestSpecifications()).length === modules.length;
}

function countPassed(modules: readonly TestModule[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { project, children } of modules) {
    const passed = [...children.allTests('passed')].length;
    counts[project.name] = (counts[project.name] ?? 0) + passed;
  }
  return counts;
}

function raise(floor: Floor, counts: Floor): void {
  const raised = { ...floor };
  for (const [name, count] of Object.entries(counts)) raised[name] = Math.max(count, floor[name] ?? 0);
  writeFileSync(FILE, `${JSON.stringify(raised, null, 2)}\n`);
}
