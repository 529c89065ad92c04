import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { removeOrphans } from '../test/support/data-dir.ts';
import type { Mode, Proof } from './lib/proof.ts';
import { FOLDER_PREFIX, type Result, runProof } from './lib/run-proof.ts';
import { runTeeth } from './lib/teeth.ts';
import { PROOFS } from './proofs.ts';

const USAGE = `npm run prove -- [NAME] [--tiny|--quick|--full] [--seed N] [--sabotage]
npm run prove -- hostile --attack TEXT                                  the attacks with TEXT in their names
npm run prove -- teeth [--tiny|--quick|--full] [--seed N] [--jobs N]    every proof must fail because of its sabotage
NAME is one of ${Object.keys(PROOFS).join(', ')}; all of them if absent`;

const OPTIONS = {
  tiny: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  full: { type: 'boolean', default: false },
  seed: { type: 'string' },
  sabotage: { type: 'boolean', default: false },
  jobs: { type: 'string', default: '2' },
  attack: { type: 'string' },
  // The options below belong to the name: they choose another proof.
  fault: { type: 'string' },
  pg: { type: 'boolean', default: false },
  campaign: { type: 'boolean', default: false },
  policy: { type: 'string' },
  http: { type: 'boolean', default: false },
  'rls-only': { type: 'boolean', default: false },
  'app-only': { type: 'boolean', default: false },
  smpp: { type: 'boolean', default: false },
  verify: { type: 'boolean', default: false },
  server: { type: 'boolean', default: false },
} as const;

const parse = () => parseArgs({ allowPositionals: true, options: OPTIONS });
type Values = ReturnType<typeof parse>['values'];

/** Returns the full name of a proof, which may contain options. */
function proofName(wanted: string, values: Values): string {
  const policy = values.policy === undefined ? [] : [`--policy ${values.policy}`];
  const fault = values.fault === undefined ? [] : [`--fault ${values.fault}`];
  const flags = (['pg', 'campaign', 'rls-only', 'app-only', 'http', 'smpp', 'verify', 'server'] as const).filter(
    (each) => values[each],
  );
  return [wanted, ...policy, ...fault, ...flags.map((flag) => `--${flag}`)].join(' ');
}

function modeOf({ tiny, quick, full }: Values): Mode | null {
  if (full) return 'full';
  if (tiny) return 'tiny';
  return quick ? 'quick' : null;
}

/** Runs one proof and prints its result; returns whether it passed. */
async function proveOne(
  name: string,
  proof: Proof,
  options: { readonly mode: Mode; readonly seed: number; readonly sabotage: boolean; readonly attack: string | null },
): Promise<boolean> {
  const log = (line: string): void => console.error(`${name}: ${line}`);
  const result = await runProof(name, proof, { ...options, databaseUrl: null, log });
  printResult(proof, result, log);
  console.log(JSON.stringify(result));
  return result.verdict === 'passed';
}

function printResult({ notYet = {} }: Proof, result: Result, log: (line: string) => void): void {
  const { figures, broken, notKeptYet, keptAlready, verdict } = result;
  for (const [figure, value] of Object.entries(figures)) log(`  ${figure.padEnd(24)} ${value.toLocaleString('en')}`);
  for (const sentence of broken) log(`  BROKEN: ${sentence}`);
  for (const sentence of notKeptYet) log(`  NOT KEPT YET: ${sentence}: ${notYet[sentence]}`);
  for (const sentence of keptAlready) log(`  KEPT IN THIS RUN, though not expected yet: ${sentence}`);
  log(verdict.toUpperCase());
}

/**
 * Returns the exit code: 0 if all passed (with `teeth`: if each failed for its reason), 1 if not. Throws for wrong usage
 * or a proof that could not run.
 */
async function main(): Promise<number> {
  const { values, positionals } = parse();
  const [wanted = 'all'] = positionals;
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const jobs = Number(values.jobs);
  if (!Number.isInteger(seed) || !(jobs >= 1)) throw new Error(USAGE);
  await removeOrphans(FOLDER_PREFIX);
  if (wanted === 'teeth') return (await runTeeth(PROOFS, { seed, jobs, mode: modeOf(values) })) ? 0 : 1;
  const whole = Object.keys(PROOFS).filter((name) => PROOFS[name]?.isVariant !== true);
  const names = wanted === 'all' ? whole : [proofName(wanted, values)];
  const { sabotage, attack = null } = values;
  let passed = true;
  for (const name of names) {
    const proof = PROOFS[name];
    if (!proof) throw new Error(USAGE);
    passed = (await proveOne(name, proof, { mode: modeOf(values) ?? 'quick', seed, sabotage, attack })) && passed;
  }
  return passed ? 0 : 1;
}

// With an exit the processes of a run that is interrupted end as well.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(2));

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
