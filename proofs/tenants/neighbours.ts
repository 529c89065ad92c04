import type { Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { openNetworks } from './networks.ts';
import { openParties, spreadIds } from './party.ts';
import type { Party } from './things.ts';

/** Three accounts of one gateway. */
export type Neighbours = AsyncDisposable & {
  readonly stage: Stage;
  /** Accounts that know nothing of each other, without things. */
  readonly parties: readonly [Party, Party, Party];
};

/**
 * Opens three accounts of one gateway, each with its own numbers. There is no worker, so every change is the effect
 * of a request.
 */
export async function openNeighbours(run: Run): Promise<Neighbours> {
  await using opened = new AsyncDisposableStack();
  const environment = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', DNS_SERVERS: '127.0.0.1:9' };
  const stage = opened.use(await openStage(run, { gateway: 'api', environment }));
  await spreadIds(stage.pool);
  const parties = await openParties(stage);
  opened.use(await openNetworks(stage, parties));
  const all = opened.move();
  return { stage, parties, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
