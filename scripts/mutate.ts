// Measures how many small faults the tests notice, area by area: `npm run mutate`, `npm run mutate -- money`, or
// `npm run mutate -- money src/money/credit/sql.ts` for some of its files. Exits with 1 when an area is below 85 %.
import type { TestProject } from 'vitest/node';
import { AREAS } from '../test/mutation/areas.ts';
import { isEquivalent, refuseStaleEntries } from '../test/mutation/equivalent.ts';
import { makeMutants } from '../test/mutation/make-mutants.ts';
import { measure } from '../test/mutation/measure.ts';
import type { Mutant } from '../test/mutation/mutant.ts';
import { openRunner } from '../test/mutation/processes.ts';
import startCluster from '../test/support/global-setup.ts';

const MIN_PERCENT = 85;

type Score = {
  readonly area: string;
  readonly mutants: number;
  readonly killed: number;
  readonly survived: number;
  readonly equivalent: number;
  readonly percent: number;
};

const given = process.argv.slice(2);
const files = given.filter((each) => each.endsWith('.ts'));
const chosen = given.filter((each) => !files.includes(each));
const unknown = chosen.filter((name) => !(name in AREAS));
if (unknown.length > 0) throw new Error(`There is no area ${unknown.join()}: ${Object.keys(AREAS).join(', ')}`);

let clusterUrl = '';
const provide = (_key: string, url: unknown): void => void (clusterUrl = String(url));
const endCluster = await startCluster({ provide } as unknown as TestProject);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void endCluster().finally(() => process.exit(130)));
const scores: Score[] = [];
try {
  for (const area of chosen.length > 0 ? chosen : Object.keys(AREAS)) scores.push(await scoreOf(area));
} finally {
  await endCluster();
}
printTable(scores);
process.exit(scores.every(({ percent }) => percent >= MIN_PERCENT) ? 0 : 1);

async function scoreOf(area: string): Promise<Score> {
  const definition = AREAS[area] ?? { files: [], tests: [] };
  const all = makeMutants(definition.files);
  refuseStaleEntries(definition.files, all);
  const mutants = all.filter(({ file }) => files.length === 0 || files.includes(file));
  const open = mutants.filter((mutant) => !isEquivalent(mutant));
  const startedAt = performance.now();
  const say = (line: string): void =>
    console.error(`${area} ${Math.round((performance.now() - startedAt) / 1000)} s: ${line}`);
  await using runner = await openRunner(clusterUrl, area);
  const fates = await measure(definition, open, { run: runner.run, say });
  const survivors = open.filter((mutant) => fates.get(mutant) === undefined);
  for (const survivor of survivors) console.log(describe(survivor));
  say(`${survivors.length} of ${open.length} survived`);
  const killed = open.length - survivors.length;
  return {
    area,
    mutants: mutants.length,
    killed,
    survived: survivors.length,
    equivalent: mutants.length - open.length,
    percent: open.length === 0 ? 100 : (100 * killed) / open.length,
  };
}

function describe({ file, line, change, code }: Mutant): string {
  return `${file}:${line}: ${change}   [${code}]`;
}

function printTable(rows: readonly Score[]): void {
  console.log('\n| Area | Mutants | Killed | Survived | Equivalent | Score |\n|---|---|---|---|---|---|');
  for (const { area, mutants, killed, survived, equivalent, percent } of rows)
    console.log(`| ${area} | ${mutants} | ${killed} | ${survived} | ${equivalent} | ${percent.toFixed(1)} % |`);
}
