import { expect, test } from 'vitest';
import { runProof } from './lib/run-proof.ts';
import { PROOFS } from './proofs.ts';

const SEED = 11;
const LINES_SHOWN = 10;
/** Some start several database servers; a slow machine takes five minutes for those. */
const TIMEOUT_MS = 600_000;

/** Declares a test that runs a proof at its smallest size, with its own PostgreSQL: some kill it. */
export function testTiny(name: string): void {
  const proof = PROOFS[name];
  if (!proof) throw new Error(`no proof ${name}`);
  test(`${name}, at its smallest size: ${proof.promise}`, { timeout: TIMEOUT_MS }, async () => {
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const options = { mode: 'tiny', seed: SEED, sabotage: false, databaseUrl: null, log } as const;
    const { figures, broken } = await runProof(name, proof, options);
    expect(broken, [JSON.stringify(figures), ...lines.slice(-LINES_SHOWN)].join('\n')).toEqual([]);
  });
}

/** Declares the tests of each `every`-th proof from number `first` on, of those whose verdict does not depend on times. */
export function testTinyShare({ first, every }: { readonly first: number; readonly every: number }): void {
  const untimed = Object.entries(PROOFS).filter(([, { timed }]) => !timed);
  for (const [place, [name]] of untimed.entries()) if (place % every === first) testTiny(name);
}
