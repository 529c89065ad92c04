import type { Pool } from 'pg';
import { moveStandings } from '../../network/routing/standings/move.ts';
import { every, type Task } from '../../platform/lib/background/task.ts';
import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import type { Sampler } from './sampler.ts';
import { deleteOldQuality, insertSamples, judgeSamples } from './sql.ts';

/**
 * Delay from the carrier's response until a message is judged: most receipts come within seconds, and a later one is of
 * no use to a person who waits for a code.
 */
const JUDGED_AFTER_MS = 5 * MINUTE_MS;
/** Maximum samples per statement, so that it takes some 20 ms. */
const SAMPLES_PER_STATEMENT = 2000;

type QualityTaskDeps = { readonly pool: Pool; readonly sampler: Sampler; readonly now: () => Date };

/** Stores and judges samples of connections, and updates routes accordingly. */
export const qualityTasks = (deps: QualityTaskDeps): Task[] => [
  { name: 'quality samples', work: every(10 * SECOND_MS, () => storeSamples(deps)) },
  { name: 'quality', work: every(MINUTE_MS, () => judgeQuality(deps)) },
];

async function storeSamples({ pool, sampler }: QualityTaskDeps): Promise<void> {
  const samples = sampler.take();
  if (samples.length > 0) await insertSamples(pool, samples);
}

/** Judges due samples, then the standing of connections. */
export async function judgeQuality({ pool, now }: Omit<QualityTaskDeps, 'sampler'>): Promise<void> {
  const before = new Date(now().getTime() - JUDGED_AFTER_MS);
  while ((await judgeSamples(pool, { before, limit: SAMPLES_PER_STATEMENT })) === SAMPLES_PER_STATEMENT);
  await deleteOldQuality(pool);
  await moveStandings(pool);
}
