import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Mode, Proof } from './proof.ts';
import { missedBy, type Result } from './run-proof.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
/** A run that takes longer has hung. */
const DEADLINE_MS = 30 * 60_000;
const STDERR_LINES = 40;

/** Options for the runs of all proofs with their faults. */
export type TeethOptions = {
  readonly seed: number;
  /** The size of every run; null for the size that each sabotage names. */
  readonly mode: Mode | null;
  /** Number of proofs that run at a time, except for those whose verdict depends on times. */
  readonly jobs: number;
};

/** Result of a run with a fault: `red` if the fault was found for the named reason, and a note for the table. */
export type Bite = { readonly word: 'red' | 'GREEN' | 'OTHER' | 'ERROR'; readonly note: string };

/**
 * Runs every proof with its fault, each in a separate process, and prints a line about each on stdout. Returns whether
 * all failed for the reason that their sabotage names.
 */
export async function runTeeth(proofs: Readonly<Record<string, Proof>>, options: TeethOptions): Promise<boolean> {
  const start = performance.now();
  const names = Object.keys(proofs);
  const isTimed = (name: string): boolean => proofs[name]?.timed === true;
  const words: Bite['word'][] = [];
  const work = async (queue: Iterable<string>): Promise<void> => {
    for (const name of queue) words.push(await biteOf(name, proofs[name], options));
  };
  const untimed = names.filter((name) => !isTimed(name)).values();
  await Promise.all(Array.from({ length: options.jobs }, () => work(untimed)));
  await work(names.filter(isTimed));
  const bit = words.filter((word) => word === 'red').length;
  console.log(`${bit} of ${names.length} failed as they must, seed ${options.seed}, ${secondsSince(start)} s`);
  return bit === names.length;
}

async function biteOf(name: string, proof: Proof | undefined, options: TeethOptions): Promise<Bite['word']> {
  if (!proof) throw new Error(`no proof ${name}`);
  const mode = options.mode ?? proof.sabotage.mode;
  const start = performance.now();
  const { result, stderr } = await runInProcess(name, mode, options.seed);
  const { word, note } = judgeBite(proof, result);
  const time = `${secondsSince(start)} s`.padStart(6);
  console.log(`${word.padEnd(5)}  ${name.padEnd(24)}  ${mode.padEnd(5)}  ${time}  ${note}`);
  if (word !== 'red') console.error(lastLines(stderr));
  return word;
}

/** Judges the result of a proof with its fault; null stands for a run that threw, or did not end. */
export function judgeBite(proof: Proof, result: Pick<Result, 'broken'> | null): Bite {
  const { breaks } = proof.sabotage;
  if (result === null) return { word: 'ERROR', note: 'the proof could not be run' };
  if (result.broken.length === 0) return { word: 'GREEN', note: `did not break: ${breaks.join('; ')}` };
  const missed = missedBy(proof, result.broken);
  if (missed.length === 0) return { word: 'red', note: breaks.join('; ') };
  return { word: 'OTHER', note: `did not break: ${missed.join('; ')}, but: ${result.broken.join('; ')}` };
}

const liveChildren = new Set<ChildProcess>();
process.once('exit', () => liveChildren.forEach((child) => child.kill('SIGTERM')));

type Ended = { readonly result: Result | null; readonly stderr: string };

async function runInProcess(name: string, mode: Mode, seed: number): Promise<Ended> {
  const args = [MAIN, ...name.split(' '), `--${mode}`, '--sabotage', '--seed', String(seed)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  liveChildren.add(child);
  const hung = setTimeout(() => child.kill('SIGTERM'), DEADLINE_MS);
  const exited = once(child, 'exit').finally(() => liveChildren.delete(child));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  clearTimeout(hung);
  return { result: resultIn(stdout), stderr };
}

/** Reads the result from the last line of stdout; libraries print warnings above it. Null if the proof printed none. */
function resultIn(stdout: string): Result | null {
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  return last.startsWith('{"proof":') ? JSON.parse(last) : null;
}

const lastLines = (stderr: string): string => stderr.split('\n').slice(-STDERR_LINES).join('\n');
const secondsSince = (start: number): number => Math.round((performance.now() - start) / 1000);
