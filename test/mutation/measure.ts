import { readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Area } from './areas.ts';
import { type CoveredFile, coverFile } from './coverage.ts';
import { hostKey, type Mutant } from './mutant.ts';
import type { Note } from './plan.ts';
import type { RunPlan } from './processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LANES = 2;
/** Tests above this run last, for what the others have left. */
const SLOW_MS = 1000;
/** How much longer than without mutants a test may take. */
const PATIENCE = 10;
const MIN_TIMEOUT_MS = 30_000;

/** The fate of each mutant: the test that noticed it, or undefined for a survivor. */
export type Fates = ReadonlyMap<Mutant, string | undefined>;

/** Measures which mutants the tests of an area notice. `say` gets a line on each step. */
export async function measure(
  { tests }: Pick<Area, 'tests'>,
  mutants: readonly Mutant[],
  { run, say }: { run: RunPlan; say: (line: string) => void },
): Promise<Fates> {
  const files = await inLanes(testFilesOf(tests), (testFile) => coverFile(run, testFile));
  const killers = new Map<number, string>();
  const doubtful = new Set<number>();
  say(
    `${mutants.length} mutants, ${files.length} test files, ${files.reduce((sum, file) => sum + file.tests.length, 0)} tests`,
  );
  for (const isSlow of [false, true]) {
    await inLanes(bySpeed(files), (file) => runMany(file, isSlow));
    say(`${killers.size} killed by ${isSlow ? 'all' : 'fast'} tests`);
  }
  await inLanes(
    mutants.filter(({ id }) => !killers.has(id)),
    runAlone,
  );
  return new Map(mutants.map((mutant) => [mutant, killers.get(mutant.id)]));

  async function runMany(file: CoveredFile, isSlow: boolean): Promise<void> {
    const chosen = file.tests.filter(({ durationMs }) => durationMs > SLOW_MS === isSlow);
    const waiting = new Map(chosen.map(({ id, hosts }) => [id, new Set(idsOf(mutants, hosts))]));
    for (;;) {
      const plan = [...waiting].map(
        ([test, ids]) => [test, [...ids].filter((id) => !killers.has(id) && !doubtful.has(id))] as const,
      );
      const mutantsOf = Object.fromEntries(plan.filter(([, ids]) => ids.length > 0));
      if (Object.keys(mutantsOf).length === 0) return;
      const notes = await run({ kind: 'many', testFile: file.testFile, mutants: mutantsOf }, timeoutOf(file));
      if (!takeNotes(notes, file.testFile, waiting)) return;
    }
  }

  /** Takes over what a process found out. Returns whether it left something to do. */
  function takeNotes(notes: readonly Note[], testFile: string, waiting: ReadonlyMap<string, Set<number>>): boolean {
    const isOver = new Set<number>();
    for (const note of notes) {
      if (!('mutant' in note)) continue;
      if (note.kind !== 'started') isOver.add(note.mutant);
      if (note.kind === 'killed') killers.set(note.mutant, `${testFile} ${note.test}`);
      if (note.kind === 'spoilt') doubtful.add(note.mutant);
      waiting.get(note.test)?.delete(note.mutant);
    }
    const last = notes.findLast((note) => note.kind === 'started');
    const hasEnded = notes.some(({ kind }) => kind === 'ended');
    if (!hasEnded && last !== undefined && !isOver.has(last.mutant)) killers.set(last.mutant, `${testFile} never ends`);
    return notes.some(({ kind }) => kind === 'spoilt') || (!hasEnded && last !== undefined);
  }

  /**
   * Runs a mutant in processes of its own, with each file that calls it where no test can be repeated. What tests call
   * again and again as well needs, of the files that call it before their first test, only those next to it.
   */
  async function runAlone(mutant: Mutant): Promise<void> {
    const key = hostKey(mutant.file, mutant.host);
    const isCalledByTests = ({ tests: repeated }: CoveredFile): boolean => repeated.some(({ hosts }) => hosts.has(key));
    const isRepeated = files.some(isCalledByTests);
    const isNext = ({ testFile }: CoveredFile): boolean => dirname(testFile) === dirname(mutant.file);
    const isDoubtful = doubtful.has(mutant.id);
    const needs = (file: CoveredFile): boolean =>
      file.alone.has(key) ||
      (file.shared.has(key) && (!isRepeated || isNext(file))) ||
      (isDoubtful && isCalledByTests(file));
    for (const file of bySpeed(files).filter(needs)) {
      const notes = await run({ kind: 'one', testFile: file.testFile, mutant: mutant.id }, timeoutOf(file));
      const failed = failureOf(notes);
      if (failed === null) continue;
      killers.set(mutant.id, `${file.testFile} ${failed}`);
      return;
    }
  }
}

function failureOf(notes: readonly Note[]): string | null {
  const ended = notes.find((note) => note.kind === 'ended');
  return ended === undefined ? 'never ends' : ended.failed;
}

const durationOf = ({ tests }: CoveredFile): number => tests.reduce((sum, { durationMs }) => sum + durationMs, 0);
const bySpeed = (files: readonly CoveredFile[]): CoveredFile[] =>
  files.toSorted((a, b) => durationOf(a) - durationOf(b));
const timeoutOf = ({ tests }: CoveredFile): number =>
  Math.max(MIN_TIMEOUT_MS, ...tests.map(({ durationMs }) => PATIENCE * durationMs));

const idsOf = (mutants: readonly Mutant[], hosts: ReadonlySet<string>): number[] =>
  mutants.filter(({ file, host }) => !host.isStatic && hosts.has(hostKey(file, host))).map(({ id }) => id);

/** The test files that a list of files and folders stands for. */
function testFilesOf(paths: readonly string[]): string[] {
  const inFolder = (path: string): string[] =>
    readdirSync(ROOT + path, { recursive: true, encoding: 'utf8' }).map((name) => `${path}/${name}`);
  const isFolder = (path: string): boolean => statSync(ROOT + path, { throwIfNoEntry: false })?.isDirectory() === true;
  const all = paths.flatMap((path) => (isFolder(path) ? inFolder(path) : [path]));
  return [...new Set(all)].filter((path) => path.endsWith('.test.ts') && !path.endsWith('.full.test.ts'));
}

/** Runs work for all items, a few at a time, and returns the results in the order of the items. */
async function inLanes<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}
