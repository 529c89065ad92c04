import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from '../src/simulators/smsc/random.ts';
import { removeDataDir, removeOrphans } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Findings, Mode, Proof } from './proof.ts';
import { PROOFS } from './proofs.ts';

const PREFIX = 'heliograph-proof-';
const USAGE = `npm run prove -- [NAME] [--quick|--full] [--seed N] [--sabotage]
npm run prove -- teeth [--quick|--full] [--seed N]    each proof must turn red on its sabotage
NAME: ${Object.keys(PROOFS).join(', ')}; without one, all of them`;

type Options = { readonly mode: Mode; readonly seed: number; readonly sabotage: boolean };

/** Runs one proof in a folder of its own, which stays when something went wrong that was not meant to. */
async function runProof(name: string, proof: Proof, { mode, seed, sabotage }: Options): Promise<boolean> {
  const folder = await temporaryFolder(PREFIX);
  const say = (line: string): void => console.error(`${name}: ${line}`);
  say(`${proof.promise} (${mode}, seed ${seed}, ${folder})`);
  if (sabotage) say(`SABOTAGE: ${proof.sabotage.fault}`);
  const file = sabotage ? fileURLToPath(proof.sabotage.file) : null;
  const start = performance.now();
  const random = createRandom(seed);
  const found = await proof.prove({ mode, seed, random, sabotage: file, folder, databaseUrl: null, say });
  const figures = { ...found.figures, seconds: Math.round((performance.now() - start) / 1000) };
  const passed = found.broken.length === 0;
  show({ ...found, figures }, say);
  const verdict = passed ? 'passed' : 'failed';
  console.log(JSON.stringify({ proof: name, seed, mode, sabotage, verdict, figures, broken: found.broken }));
  if (passed !== sabotage) {
    await removeDataDir(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
  return passed;
}

function show({ figures, broken }: Findings, say: (line: string) => void): void {
  for (const [figure, value] of Object.entries(figures)) say(`  ${figure.padEnd(24)} ${value.toLocaleString('en')}`);
  for (const sentence of broken) say(`  BROKEN: ${sentence}`);
  say(broken.length === 0 ? 'PASSED' : 'FAILED');
}

/** Some options belong to the name: they choose another proof. */
function nameOf(
  wanted: string,
  values: { pg?: boolean; campaign?: boolean; policy?: string; 'rls-only'?: boolean },
): string {
  const { pg = false, campaign = false, policy, 'rls-only': rlsOnly = false } = values;
  if (pg) return `${wanted} --pg`;
  if (campaign) return `${wanted} --campaign`;
  if (rlsOnly) return `${wanted} --rls-only`;
  return policy === undefined ? wanted : `${wanted} --policy ${policy}`;
}

/** Exit code 0: all passed (of `teeth`: none did); 1: not so; 2: called wrongly, or a proof could not be carried out. */
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
  const names = every ? Object.keys(PROOFS) : [nameOf(wanted, values)];
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const options = { mode: values.full ? 'full' : 'quick', seed, sabotage: teeth || values.sabotage } as const;
  await removeOrphans(PREFIX);
  let asWanted = true;
  for (const name of names) {
    const proof = PROOFS[name];
    if (!proof || !Number.isInteger(seed)) throw new Error(USAGE);
    asWanted = (await runProof(name, proof, options)) !== teeth && asWanted;
  }
  return asWanted ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
