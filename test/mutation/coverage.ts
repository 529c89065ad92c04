import type { Note } from './plan.ts';
import type { RunPlan } from './processes.ts';

/** A test that gives the same result when it is run again in the same process. */
export type CoveredTest = { readonly id: string; readonly durationMs: number; readonly hosts: ReadonlySet<string> };

/** What the tests of one file call. */
export type CoveredFile = {
  readonly testFile: string;
  readonly tests: readonly CoveredTest[];
  /** The hosts that run before the first test, once for all. */
  readonly shared: ReadonlySet<string>;
  /** The hosts of tests that have to be run in a process of their own. */
  readonly alone: ReadonlySet<string>;
};

const TIMEOUT_MS = 120_000;

/** Runs a test file without mutants, each test twice. Throws when it fails. */
export async function coverFile(run: RunPlan, testFile: string): Promise<CoveredFile> {
  const notes = await run({ kind: 'cover', testFile }, TIMEOUT_MS);
  const covered = notes.filter((note) => note.kind === 'covered');
  const byTest = Map.groupBy(covered, ({ test }) => test);
  const broken = covered.find(({ test, passed }) => !passed && byTest.get(test)?.[0]?.passed === false);
  const ended = notes.find((note) => note.kind === 'ended');
  if (ended === undefined || broken !== undefined || covered.length === 0)
    throw new Error(`${testFile} fails without a mutant: ${ended?.failed ?? 'it did not come to its end'}`);
  const isRepeatable = (tries: readonly Covered[]): boolean =>
    tries.length === 2 && tries.every(({ passed }) => passed);
  const groups = [...byTest.values()];
  return {
    testFile,
    tests: groups.filter(isRepeatable).map(toTest),
    shared: new Set(notes.flatMap((note) => (note.kind === 'shared' ? note.hosts : []))),
    alone: new Set(
      groups.filter((tries) => !isRepeatable(tries)).flatMap((tries) => tries.flatMap(({ hosts }) => hosts)),
    ),
  };
}

type Covered = Extract<Note, { kind: 'covered' }>;

function toTest(tries: readonly Covered[]): CoveredTest {
  const [first] = tries;
  if (first === undefined) throw new Error('a test without a try');
  const hosts = new Set(tries.flatMap((each) => each.hosts));
  return { id: first.test, durationMs: Math.max(...tries.map((each) => each.durationMs)), hosts };
}
