import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from '../src/simulators/smsc/random.ts';
import { removeDataDir, removeOrphans } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Findings, Mode, Proof } from './lib/proof.ts';
import { PROOFS } from './proofs.ts';

const PREFIX = 'heliograph-proof-';
const USAGE = `npm run prove -- [NAME] [--quick|--full] [--seed N] [--sabotage]
npm run prove -- teeth [--quick|--full] [--seed N]    every proof must fail with its sabotage
NAME is one of ${Object.keys(PROOFS).join(', ')}; all of them if absent`;

type Options = { readonly mode: Mode; readonly seed: number; readonly sabotage: boolean };

/**
 * Runs one proof in a folder of its own, which is kept if the result is not the expected one. Returns whether it
 * passed.
 */
async function runProof(name: string, proof: Proof, { mode, seed, sabotage }: Options): Promise<boolean> {
  const folder = await temporaryFolder(PREFIX);
  const log = (line: string): void => console.error(`${name}: ${line}`);
  log(`${proof.promise} (${mode}, seed ${seed}, ${folder})`);
  if (sabotage) log(`SABOTAGE: ${proof.sabotage.fault}`);
  const file = sabotage ? fileURLToPath(proof.sabotage.file) : null;
  const start = performance.now();
  const random = createRandom(seed);
  const found = await proof.prove({ mode, seed, random, sabotage: file, folder, databaseUrl: null, log });
  const figures = { ...found.figures, seconds: Math.round((performance.now() - start) / 1000) };
  const passed = found.broken.length === 0;
  printFindings({ ...found, figures }, log);
  const verdict = passed ? 'passed' : 'failed';
  console.log(JSON.stringify({ proof: name, seed, mode, sabotage, verdict, figures, broken: found.broken }));
  if (passed !== sabotage) {
    await removeDataDir(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
  return passed;
}

function printFindings({ figures, broken }: Findings, log: (line: string) => void): void {
  for (const [figure, value] of Object.entries(figures)) log(`  ${figure.padEnd(24)} ${value.toLocaleString('en')}`);
  for (const sentence of broken) log(`  BROKEN: ${sentence}`);
  log(broken.length === 0 ? 'PASSED' : 'FAILED');
}

/** Returns the full name of a proof: some options belong to the name and choose another proof. */
function proofName(
  wanted: string,
  values: { pg?: boolean; campaign?: boolean; policy?: string; 'rls-only'?: boolean },
): string {
  const { pg = false, campaign = false, policy, 'rls-only': rlsOnly = false } = values;
  if (pg) return `${wanted} --pg`;
  if (campaign) return `${wanted} --campaign`;
  if (rlsOnly) return `${wanted} --rls-only`;
  return policy === undefined ? wanted : `${wanted} --policy ${policy}`;
}

/**
 * Returns the exit code: 0 if all passed (with `teeth`: if none did), 1 if not, 2 for wrong usage or a proof that could
 * not run.
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      full: { type: 'boolean' },
      seed: { type: 'string' },
      sabotage: { type: 'boolean', default: false },
      pg: { type: 'boolean' },
      campaign: { type: 'boolean' },
      policy: { type: 'string' },
      'rls-only': { type: 'boolean' },
    },
  });
  const [wanted = 'all'] = positionals;
  const teeth = wanted === 'teeth';
  const every = teeth || wanted === 'all';
  const names = every ? Object.keys(PROOFS) : [proofName(wanted, values)];
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const options = { mode: values.full ? 'full' : 'quick', seed, sabotage: teeth || values.sabotage } as const;
  await removeOrphans(PREFIX);
  let asExpected = true;
  for (const name of names) {
    const proof = PROOFS[name];
    if (!proof || !Number.isInteger(seed)) throw new Error(USAGE);
    asExpected = (await runProof(name, proof, options)) !== teeth && asExpected;
  }
  return asExpected ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
