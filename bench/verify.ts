import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import { databaseUrl, TEMPLATE } from '../test/support/cluster.ts';
import { startTestCluster } from '../test/support/test-cluster.ts';
import { type Outcome, type PatternName, simulate } from '../test/support/verify-patterns.ts';
import type { Report } from './lib/report.ts';

const SEED = Number(process.argv[3] ?? 43);
/** The least share of the money of an attack that is to be stopped. */
const ATTACKS = { oneRange: 0.98, manyRanges: 0.85, mixed: 0.6 } as const satisfies Partial<
  Record<PatternName, number>
>;
/** The largest share of people who are blocked, or challenged twice. */
const MAX_HINDERED = 0.005;
const MAX_CHALLENGED_AT_LAUNCH = 0.02;

/**
 * Runs five patterns through the guard of verifications on PostgreSQL, with a clock of their own: three attacks, a launch
 * and the outage of a carrier. The ratio is that of the worst promise to its limit. `verify 7` uses another seed.
 */
export async function benchVerify(): Promise<Report> {
  await using cluster = await startTestCluster('heliograph-bench-');
  const pool = createPool(databaseUrl(cluster.url, TEMPLATE), { max: 4, applicationName: 'bench', log: silentLog });
  const run = (name: PatternName): Promise<Outcome> => simulate(pool, name, { seed: SEED });
  const outcomes: Partial<Record<PatternName, Outcome>> = {};
  for (const name of ['oneRange', 'manyRanges', 'mixed', 'launch', 'outage'] as const) outcomes[name] = await run(name);
  const misled = await simulate(pool, 'outage', { seed: SEED, claimsDelivery: true });
  await pool.end();
  const of = (name: PatternName): Outcome => outcomes[name] as Outcome;
  const attacks = Object.entries(ATTACKS) as [keyof typeof ATTACKS, number][];
  const kept = [
    ...attacks.map(([name, share]) => of(name).stoppedShare / share),
    ...attacks.map(([name]) => MAX_HINDERED / Math.max(of(name).hinderedShare, MAX_HINDERED / 10)),
    MAX_CHALLENGED_AT_LAUNCH / Math.max(of('launch').challengedShare, MAX_CHALLENGED_AT_LAUNCH / 10),
    ...[of('launch').blockedPeople, of('launch').challengedLate, of('outage').pausedRanges].map((n) =>
      n === 0 ? 1 : 0,
    ),
  ];
  return {
    name: 'verify',
    ratio: Math.min(...kept),
    target: 1,
    figures: Object.assign(
      { 'outage.pausedRangesIfReceiptsLie': misled.pausedRanges },
      ...Object.entries(outcomes).map(([name, outcome]) =>
        Object.fromEntries(Object.entries(outcome).map(([figure, value]) => [`${name}.${figure}`, value])),
      ),
    ),
  };
}
