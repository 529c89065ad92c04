import { randomInt } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { makeCarrier } from '../../test/support/carriers/smpp-harness.ts';
import { startScriptedPeer } from '../../test/support/carriers/smpp-scripted-peer.ts';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, listUnknownIds, queueMessages } from '../../test/support/queue.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { startPump } from '../dispatch/pump.ts';
import { loadJobs } from '../messages/load.ts';
import { settleOutcomes } from '../messages/settle.ts';
import * as db from './connection-store.ts';
import { failOver } from './connections.ts';
import { superviseConnections } from './supervise.ts';

const { pool } = testDatabase();

test('a carrier that responds to enquiries and not to submits is reported, and what waits for it moves on', async () => {
  for (const name of ['stuck', 'other'])
    await db.insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} });
  await db.moveConnectionStatus(pool, { name: 'other', status: 'paused' });
  const peer = await startScriptedPeer({ script: ({ command }) => command === 'submit_sm' });
  const settings = { window: 4, maxSubmitTimeouts: 2, submitTimeoutSeconds: 0.2, enquireSeconds: 0.05 };
  // Down for much longer than this test, so that nothing depends on how long a step takes.
  const timing = { reconnectBaseMs: 10, reconnectMaxMs: 100, stableMs: 60_000, faultRetryMs: 1e6, stuckRetryMs: 1e6 };
  const owner = randomInt(1, 2 ** 47);
  const supervisor = superviseConnections({
    pool,
    owner,
    log: silentLog,
    sandbox: () => false,
    makeCarrier: () => makeCarrier(peer, settings, timing),
    startPump: ({ id: connectionId }, carrier) => {
      const load: Parameters<typeof startPump>[0]['load'] = (chunks) => loadJobs(pool, chunks);
      const wakeOther = (): void => undefined;
      return startPump({
        pool,
        connectionId,
        owner,
        carrier,
        tps: 0,
        log: silentLog,
        load,
        settle: settleOutcomes,
        wakeOther,
      });
    },
    onReceipt: () => Promise.resolve(),
    onInbound: () => Promise.resolve(),
  });
  onTestFinished(async () => {
    await supervisor.stop(300);
    await peer.close();
  });
  const ids = await queueMessages(pool, { count: 20, alternates: [2] });
  await supervisor.reload();

  const stuck = async () => (await db.listConnectionStatus(pool)).find(({ name }) => name === 'stuck');
  await until('it is down', async () => (await stuck())?.up === false && (await listUnknownIds(pool)).size === 4);
  expect(await stuck()).toMatchObject({ lastError: 'the carrier does not respond to submits' });

  await until('nothing is claimed', async () => (await listChunks(pool)).every((chunk) => chunk.owner === null));
  await db.moveConnectionStatus(pool, { name: 'other', status: 'active' });
  await db.insertConnectionStatus(pool, {
    connectionId: 2,
    worker: 1,
    up: true,
    bindsUp: 1,
    bindsWanted: 1,
    fault: null,
  });
  await failOver(pool, { deadAfterMs: 30_000 });
  await exec(pool, sql`UPDATE connection_down SET since = since - interval '30 seconds'`);
  await failOver(pool, { deadAfterMs: 30_000 });
  expect(await listChunks(pool)).toMatchObject([{ connectionId: 2, ids: ids.slice(4) }]);
});
