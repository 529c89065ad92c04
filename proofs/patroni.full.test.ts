// The proof `failover` once with Patroni and etcd, which not every machine has: no part of the list of proofs.

import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createRandom } from '../src/sandbox/smsc-script.ts';
import { patroniIsMissing, startPatroni } from '../test/support/patroni/cluster.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { compare, hasEnded } from './lib/compare.ts';
import { startCrew } from './lib/kills.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from './lib/messages.ts';
import type { Run } from './lib/proof.ts';
import { startTraffic } from './lib/sending.ts';
import { openStage } from './lib/stage.ts';

const [WORKERS, WINDOW, BULK] = [2, 10, 100];
const TRAFFIC_MS = 1000;
const STALL_TIMEOUT_MS = 60_000;

test('Patroni replaces a primary on request, after its death, and while it is cut off: nothing is lost or sent twice', {
  timeout: 600_000,
}, async (context) => {
  const missing = patroniIsMissing();
  if (missing !== undefined) return context.skip(missing);
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-proof-');
  opened.defer(() => rm(folder, { recursive: true, maxRetries: 10 }));
  const cluster = await startPatroni();
  opened.defer(cluster.stop);
  const run: Run = {
    mode: 'tiny',
    seed: 7,
    random: createRandom(7),
    sabotage: null,
    attack: null,
    folder,
    databaseUrl: cluster.url,
    log: () => undefined,
  };
  const stage = opened.use(
    await openStage(run, {
      gateway: 'api',
      script: { responseDelayMs: 5, receiptDelayMs: 50 },
      settings: { window: WINDOW, binds: 1 },
    }),
  );
  const crew = await startCrew(run, stage, WORKERS);
  const traffic = startTraffic(stage, { bulk: BULK });

  /** Replaces the primary while messages are sent, and waits until they are accepted again and all nodes are back. */
  async function replace(how: (nodes: Awaited<ReturnType<typeof cluster.untilHealthy>>) => Promise<void>) {
    const nodes = await cluster.untilHealthy();
    await traffic.forMs(TRAFFIC_MS);
    await how(nodes);
    await traffic.untilAccepted();
    await cluster.untilHealthy();
  }

  await replace(({ leader, synchronous }) => leader.switchTo(synchronous));
  await replace(async ({ leader }) => {
    await leader.kill();
    await cluster.untilReplaced(leader);
    await traffic.untilAccepted();
    await leader.start();
  });
  await replace(async ({ leader }) => {
    leader.cutOff();
    await cluster.untilReplaced(leader);
    await traffic.untilAccepted();
    leader.reconnect();
  });
  // Now its PostgreSQL goes on as a primary without supervision.
  await replace(async ({ leader }) => {
    leader.freeze();
    await cluster.untilReplaced(leader);
    await traffic.untilAccepted();
    await traffic.untilAccepted();
    leader.thaw();
  });
  await traffic.stop();
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const found = compare({
    ids: traffic.ids,
    records: await exportStatuses(stage, traffic.ids, hasEnded, STALL_TIMEOUT_MS),
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger: await stage.carrier.ledger(),
  });
  expect(found).toMatchObject({ lost: 0, duplicates: 0, notListed: 0 });
  expect(found.inDoubt).toBeLessThanOrEqual(4 * WORKERS * WINDOW);
  expect(traffic.ids.length).toBeGreaterThan(0);
});
