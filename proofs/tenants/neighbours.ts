import type { Run } from '../proof.ts';
import { openStage, type Stage } from '../stage.ts';
import { openNetworks } from './networks.ts';
import { openParties, spreadIds } from './party.ts';
import type { Party } from './things.ts';

export type Neighbours = AsyncDisposable & {
  readonly stage: Stage;
  /** They know nothing of each other, and have no things yet. */
  readonly parties: readonly [Party, Party, Party];
};

/**
 * Three accounts of one gateway, each with numbers of its own. No worker: nothing changes by itself, so whatever changes
 * was somebody's doing.
 */
export async function openNeighbours(run: Run, preload: readonly URL[] = []): Promise<Neighbours> {
  await using opened = new AsyncDisposableStack();
  const environment = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const stage = opened.use(await openStage(run, { gateway: 'api', environment, preload }));
  await spreadIds(stage.pool);
  const parties = await openParties(stage);
  opened.use(await openNetworks(stage, parties));
  const all = opened.move();
  return { stage, parties, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
