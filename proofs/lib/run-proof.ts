import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom } from '../../src/sandbox/smsc-script.ts';
import { removeDataDir, removeOrphans } from '../../test/support/data-dir.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import type { Figures, Findings, Mode, Proof, Run } from './proof.ts';

/** Beginning of the folder names of all runs. */
export const FOLDER_PREFIX = 'heliograph-proof-';

/** Options of a run of a proof. */
export type RunOptions = {
  readonly mode: Mode;
  readonly seed: number;
  /** True if the proof's fault is built into the program. */
  readonly sabotage: boolean;
  readonly attack?: string | null;
  /** The URL of an existing database; null lets the gateway run its own. */
  readonly databaseUrl: string | null;
  log(line: string): void;
};

/** The result of one run, as it is printed. */
export type Result = {
  readonly proof: string;
  readonly seed: number;
  readonly mode: Mode;
  readonly sabotage: boolean;
  readonly verdict: 'passed' | 'failed';
  readonly figures: Figures;
  /** The claims that did not hold, without those that are not expected to hold yet. */
  readonly broken: readonly string[];
  /** The claims that did not hold and are not expected to yet. */
  readonly notKeptYet: readonly string[];
  /** The claims that held although they are not expected to yet. */
  readonly keptAlready: readonly string[];
};

/**
 * Runs one proof in its own folder. The folder is removed if the result is the expected one: the proof passed, or
 * failed because of its sabotage. Otherwise it is kept, with the log of every process.
 */
export async function runProof(name: string, proof: Proof, options: RunOptions): Promise<Result> {
  const { mode, seed, sabotage, attack = null, databaseUrl, log } = options;
  const folder = await temporaryFolder(FOLDER_PREFIX);
  log(`${proof.promise} (${mode}, seed ${seed}, ${folder})`);
  if (sabotage) log(`SABOTAGE: ${proof.sabotage.fault}`);
  const start = performance.now();
  const fault = sabotage ? proof.sabotage : null;
  const run: Run = { mode, seed, random: createRandom(seed), sabotage: fault, attack, folder, databaseUrl, log };
  const found = await proof.prove(run);
  const figures = { ...found.figures, seconds: Math.round((performance.now() - start) / 1000) };
  const { broken, notKeptYet, keptAlready } = sort(proof, found);
  const verdict = broken.length === 0 ? 'passed' : 'failed';
  const result: Result = { proof: name, seed, mode, sabotage, verdict, figures, broken, notKeptYet, keptAlready };
  if (sabotage ? missedBy(proof, broken).length === 0 : verdict === 'passed') await removeFolder(folder);
  return result;
}

/** The claims that the proof's fault must break, and that are not among the broken ones. */
export const missedBy = ({ sabotage }: Proof, broken: readonly string[]): string[] =>
  sabotage.breaks.filter((sentence) => !broken.includes(sentence));

/** Sorts the claims by what was expected of them. Throws if the proof names a claim that it does not make. */
function sort(
  { sabotage, notYet = {} }: Proof,
  { broken, held }: Findings,
): Pick<Result, 'broken' | 'notKeptYet' | 'keptAlready'> {
  const expected = Object.keys(notYet);
  const unknown = [...sabotage.breaks, ...expected].filter((each) => !broken.includes(each) && !held.includes(each));
  if (unknown.length > 0) throw new Error(`the proof does not claim: ${unknown.join('; ')}`);
  return {
    broken: broken.filter((sentence) => !expected.includes(sentence)),
    notKeptYet: broken.filter((sentence) => expected.includes(sentence)),
    keptAlready: held.filter((sentence) => expected.includes(sentence)),
  };
}

async function removeFolder(folder: string): Promise<void> {
  await removeDataDir(join(folder, 'data'));
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  // A copy of the data folder may have had its cluster elsewhere.
  await removeOrphans(FOLDER_PREFIX);
}
