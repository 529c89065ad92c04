import type { Pool } from 'pg';
import { CAMPAIGNS_CHANNEL } from '../engagement/campaigns/outcomes/sql.ts';
import { type Campaigns, createCampaigns } from '../engagement/campaigns/worker/runner.ts';
import type { Carrier } from '../carriers/carrier.ts';
import type { Config } from '../platform/config.ts';
import { failOver } from '../network/connections/fail-over.ts';
import { kindOf } from '../network/connections/kinds/kinds.ts';
import { secretOf } from '../network/connections/save.ts';
import {
  type Connection,
  deleteDeadConnectionStatus,
  deleteOldMinutes,
  LINKS_CHANNEL,
  notifyLinks,
} from '../network/connections/sql.ts';
import { superviseConnections, type Supervisor } from '../network/connections/supervise.ts';
import { deleteOldImports, IMPORTS_CHANNEL } from '../engagement/contacts/imports/sql.ts';
import { importNextChunk } from '../engagement/contacts/imports/work.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { createPastDays } from '../platform/db/past-days.ts';
import { openWorkerSession } from '../platform/db/worker-session.ts';
import { startPump } from '../network/dispatch/pump.ts';
import { rescueChunks } from '../network/dispatch/rescue.ts';
import { WAKE_CHANNEL, type Waker } from '../network/dispatch/wake.ts';
import { deleteOldAnswers } from '../platform/idempotency/sql.ts';
import { createInboundInbox, endOverdueParts } from '../messaging/inbound/receive.ts';
import { deleteOldSeen } from '../messaging/inbound/sql.ts';
import { fetchMedia } from '../engagement/inbox/media/fetch.ts';
import { findNextMediaMs } from '../engagement/inbox/media/sql.ts';
import { deleteOldInboxEvents, INBOX_CHANNEL } from '../engagement/inbox/stream/sql.ts';
import { lookAtAnswers } from '../engagement/inbox/watch/look.ts';
import { findNextWatchedMs } from '../engagement/inbox/watch/sql.ts';
import { expireExports } from '../reporting/exports/expire.ts';
import { deleteOldExports, EXPORTS_CHANNEL } from '../reporting/exports/sql.ts';
import { createExporter } from '../reporting/exports/work.ts';
import { createFence, type Fence } from '../messaging/restore-guard/fence.ts';
import type { Clock } from '../platform/lib/clock.ts';
import type { Log } from '../platform/lib/log.ts';
import { type Loop, startLoop } from '../platform/lib/loop.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import { withMedia } from '../messaging/messages/with-media.ts';
import { createMediaLinks } from '../media/links.ts';
import { removeOldInbound } from '../media/remove.ts';
import { deleteOldBulkRequests } from '../messaging/sending/bulk/sql.ts';
import { createAccept } from '../messaging/sending/accept.ts';
import { settleOutcomes } from '../messaging/messages/deliver.ts';
import { endDeadlines, expireQueued, expireUsual } from '../messaging/expiry/expire.ts';
import { findNextDeadlineMs } from '../messaging/expiry/sql.ts';
import type { Revoke } from '../messaging/fallback/ends.ts';
import { createFallbacks } from '../messaging/fallback/look.ts';
import { FALLBACKS_CHANNEL, findNextFallbackMs } from '../messaging/messages/fallback/sql.ts';
import type { Resolver } from '../network/templates/content.ts';
import { loadJobs } from '../messaging/messages/load.ts';
import type { Tables } from '../messaging/sending/prepare.ts';
import { endSimulated } from '../messaging/simulation/simulate.ts';
import { findNextSimulatedMs, SIMULATED_CHANNEL } from '../messaging/simulation/sql.ts';
import { createReceiptInbox } from '../messaging/receipts/inbox.ts';
import { processReceipts, retryUnmatched } from '../messaging/receipts/process.ts';
import { createRecent } from '../messaging/receipts/recent.ts';
import { deleteOldUnmatched, findNextUnmatchedMs, RECEIPTS_CHANNEL } from '../messaging/receipts/sql.ts';
import { deleteEndedSessions } from '../identity/sessions/sql.ts';
import { moveSeenSchedules } from '../messaging/schedules/sql.ts';
import { removeOld } from '../operations/retention/remove-old.ts';
import { ROUTING_CHANNEL } from '../network/routing/router.ts';
import { deleteOldNameless } from '../messaging/unknown-outcomes/sql.ts';
import { removeDueFiles } from '../platform/storage/remove-due.ts';
import type { LinkSigner } from '../platform/storage/signed-links.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { refreshNext } from '../engagement/social/refresh.ts';
import { createResolver } from '../network/templates/resolve.ts';
import { syncTemplates } from '../network/templates/sync.ts';
import { foldTraffic } from '../messaging/traffic/folding/fold.ts';
import { type Deliveries, startDeliveries } from '../messaging/webhooks/delivery/deliver.ts';
import { WEBHOOKS_CHANNEL } from '../messaging/webhooks/outbox/sql.ts';
import type { Outlet } from '../platform/outbound/outlet.ts';
import { reportWorker } from '../operations/workers/report.ts';
import { deleteWorkers } from '../operations/workers/sql.ts';

export type WorkerDeps = {
  readonly config: Config;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly waker: Waker;
  /** Routes and prices. */
  readonly tables: Tables;
  readonly outlet: Outlet;
  readonly storage: Storage;
  readonly links: LinkSigner;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the sandbox carrier runs, so that its connections do. */
  readonly sandbox: () => boolean;
  /** Called when routes or connections changed. */
  readonly onRoutingChange: () => void;
};

export type Worker = {
  readonly supervisor: Supervisor;
  /** Claims nothing more, drains the windows, commits the outcomes, hands the rest back. */
  stop(deadlineMs: number): Promise<void>;
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Receipts of validity (48 h) and seven days more. */
const UNMATCHED_DAYS = 9;

/**
 * A loop over rows with a due time: looks for the next one when woken, and at least every `pollMs`, for those that a
 * process left behind that woke nobody; works when it is due. One plain query is all that an idle look costs.
 */
const whenDue =
  (work: () => Promise<number>, nextMs: () => Promise<number | null>, pollMs: number) => async (): Promise<number> => {
    const dueInMs = (await nextMs()) ?? pollMs;
    if (dueInMs > 0) return Math.min(pollMs, Math.max(20, dueInMs));
    return (await work()) > 0 ? 0 : 20;
  };

/** Starts everything that runs behind the API: the list of pipelines and periodic tasks. */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { pool, log, clock, waker } = deps;
  const now = (): Date => clock.now();
  const loops: Record<string, Loop> = {};
  let deliveries: Deliveries | null = null;
  let campaigns: Campaigns | null = null;
  const fence = createFence({ dataDir: deps.config.dataDir, pool, owner: () => session.owner, log });
  /** Without a payload the session was away: others may have taken this worker for dead. */
  const doubtIfAway = (payload: string): void => (payload === '' ? loops['fence']?.wake() : undefined);
  const listeners: Readonly<Record<string, (payload: string) => void>> = {
    [WAKE_CHANNEL]: (payload) => waker.wakeHere(Number(payload)),
    [IMPORTS_CHANNEL]: () => loops['imports']?.wake(),
    [EXPORTS_CHANNEL]: () => loops['exports']?.wake(),
    [WEBHOOKS_CHANNEL]: () => deliveries?.wake(),
    [RECEIPTS_CHANNEL]: () => loops['receipts']?.wake(),
    [SIMULATED_CHANNEL]: () => loops['simulated outcomes']?.wake(),
    [FALLBACKS_CHANNEL]: () => loops['fallbacks']?.wake(),
    [INBOX_CHANNEL]() {
      loops['inbox statuses']?.wake();
      loops['inbox media']?.wake();
    },
    [CAMPAIGNS_CHANNEL](payload) {
      if (payload !== '') campaigns?.wake(Number(payload));
      loops['campaigns']?.wake();
    },
    [LINKS_CHANNEL](payload) {
      doubtIfAway(payload);
      loops['failover']?.wake();
      loops[payload === '' ? 'connections' : 'rates']?.wake();
    },
    [ROUTING_CHANNEL](payload) {
      doubtIfAway(payload);
      deps.onRoutingChange();
      void supervisor.reload();
      loops['failover']?.wake();
    },
  };
  const session = await openWorkerSession({
    connectionString: deps.connectionString,
    channels: Object.keys(listeners),
    onNotify: (channel, payload) => listeners[channel]?.(payload),
    onLost: fence.doubt,
    log,
  });
  await fence.check().catch(async (error: unknown) => {
    await session.close();
    throw error;
  });
  const storeInbound = createInboundInbox(pool);
  const recent = createRecent();
  const storeReceipt = createReceiptInbox(pool, () => loops['receipts']?.wake(), recent);
  const media = createMediaLinks({ links: deps.links, publicUrl: deps.config.publicUrl });
  const resolver = withMedia({ pool, links: media, clock }, createResolver(pool));
  const supervisor: Supervisor = superviseConnections({
    pool,
    owner: session.owner,
    log,
    sandbox: deps.sandbox,
    makeCarrier: (connection) =>
      kindOf(connection).createCarrier(connection.settings, secretOf(connection, deps.secretKey)),
    startPump: (connection, carrier) => pumpFor(deps, { owner: session.owner, fence, connection, carrier, resolver }),
    onReceipt: (connectionId, receipt) => storeReceipt({ connectionId, receipt }),
    onInbound: (connectionId, inbound) => storeInbound({ connectionId, inbound }),
  });

  await supervisor.reload();
  const start = (name: string, work: () => Promise<number>): void => {
    loops[name] = startLoop(name, work, log);
  };
  /** For what changes messages because time has passed: not while nobody knows whether they are this program's to end. */
  const startUnlessPaused = (name: string, work: () => Promise<number>): void =>
    start(name, () => (fence.paused() ? Promise.resolve(SECOND) : work()));
  start('fence', fence.check);
  // Both are woken by what comes in here; the waits are for what a dead worker left behind.
  const onParked = (): void => loops['unmatched receipts']?.wake();
  start('receipts', async () => ((await processReceipts(pool, now, { recent, onParked })) > 0 ? 0 : 2 * SECOND));
  start(
    'unmatched receipts',
    whenDue(
      () => retryUnmatched(pool, now),
      () => findNextUnmatchedMs(pool),
      10 * SECOND,
    ),
  );
  startUnlessPaused(
    'simulated outcomes',
    whenDue(
      () => endSimulated(pool),
      () => findNextSimulatedMs(pool),
      10 * SECOND,
    ),
  );
  start('incomplete inbound', async () => ((await endOverdueParts(pool)) > 0 ? 0 : 10 * SECOND));
  start('old inbound', () => deleteOldSeen(pool).then(() => MINUTE));
  start('rescue', async () => {
    const { chunks, unknown, connectionIds } = await rescueChunks(pool, settleOutcomes);
    if (chunks > 0) log.warn({ count: chunks, state: `${unknown} unknown` }, 'took over the chunks of a dead worker');
    for (const id of connectionIds) waker.wake(id);
    return chunks > 0 ? 0 : 0.8 * SECOND;
  });
  start('rates', () => supervisor.shareRates().then(() => 10 * SECOND));
  start('failover', () => moveFromDead(deps));
  start('connections', () =>
    supervisor
      .reload()
      .then(() => supervisor.report())
      .then(() => reportWorker(pool, { owner: session.owner, loops }))
      .then(() => 10 * SECOND),
  );
  startUnlessPaused(
    'deadlines',
    whenDue(
      () => endDeadlines(pool, now),
      () => findNextDeadlineMs(pool),
      5 * SECOND,
    ),
  );
  startUnlessPaused('usual validity', () => expireUsual(pool, now).then((waitMs) => Math.min(waitMs, MINUTE)));
  startUnlessPaused('old in the queue', async () => ((await expireQueued(pool, now)) > 0 ? 0 : 10 * MINUTE));
  startUnlessPaused('schedules', () => moveSeenSchedules(pool).then(() => MINUTE));
  const revoke: Revoke = {
    reaches: supervisor.runs,
    ask: (message) => supervisor.revoke(message.connectionId, message),
  };
  campaigns = createCampaigns({
    ...deps,
    paused: fence.paused,
    revoke,
  });
  startUnlessPaused('campaigns', campaigns.work);
  const fallbacks = createFallbacks({
    pool,
    now,
    log,
    accept: createAccept(deps),
    revoke,
  });
  startUnlessPaused(
    'fallbacks',
    whenDue(
      () => fallbacks.look(),
      () => findNextFallbackMs(pool),
      10 * SECOND,
    ),
  );
  start('traffic', async () => ((await foldTraffic(pool, now)) > 0 ? 0 : 10 * MINUTE));
  start('partitions', () => ensurePartitions(pool, now()).then(() => HOUR));
  const pastDays = createPastDays(pool);
  start('past days', () => pastDays.work(now()).then(() => HOUR));
  // A copy of the database must not use up the refresh tokens of the original.
  startUnlessPaused('social profiles', async () => ((await refreshNext(deps)) ? 0 : 30 * SECOND));
  startUnlessPaused('retention', () => removeOld({ pool, log, now }, { days: deps.config.retentionDays }));
  start('old receipts', async () => {
    await deleteOldUnmatched(pool, UNMATCHED_DAYS);
    await deleteOldNameless(pool, UNMATCHED_DAYS);
    return HOUR;
  });
  start('ended sessions', async () => ((await deleteEndedSessions(pool, { limit: 10_000 })) > 0 ? 0 : HOUR));
  start('old answers', async () => ((await deleteOldAnswers(pool, { limit: 10_000 })) > 0 ? 0 : MINUTE));
  deliveries = startDeliveries({
    ...deps,
    poster: deps.outlet.poster,
    owner: session.owner,
    paused: fence.paused,
  });
  // Woken by what comes in; the wait is for one that failed, or was a dead worker's.
  start('imports', async () => ((await importNextChunk(pool, log)) ? 0 : 10 * SECOND));
  start('old imports', () => deleteOldImports(pool, { days: deps.config.retentionDays }).then(() => HOUR));
  const exporter = createExporter({
    ...deps,
    dataDir: deps.config.dataDir,
    owner: session.owner,
    onEnd: () => loops['exports']?.wake(),
  });
  start('exports', exporter.work);
  start('expired exports', async () => ((await expireExports(pool)) > 0 ? 0 : MINUTE));
  start('old exports', () => deleteOldExports(pool, { days: deps.config.retentionDays }).then(() => HOUR));
  start('templates', () => syncTemplates(deps).then(() => 10 * MINUTE));
  start(
    'inbox statuses',
    whenDue(
      () => lookAtAnswers(pool, now),
      () => findNextWatchedMs(pool),
      10 * SECOND,
    ),
  );
  start(
    'inbox media',
    whenDue(
      () => fetchMedia(deps),
      () => findNextMediaMs(pool),
      10 * SECOND,
    ),
  );
  start('old inbox events', async () => ((await deleteOldInboxEvents(pool, { limit: 10_000 })) > 0 ? 0 : 10 * MINUTE));
  start('file removals', async () => ((await removeDueFiles(pool, deps.storage)) > 0 ? 0 : MINUTE));
  start('old media', async () => ((await removeOldInbound(pool, { days: deps.config.retentionDays })) > 0 ? 0 : HOUR));
  start('old figures', () => deleteOldMinutes(pool).then(() => HOUR));
  start('old bulk requests', () => deleteOldBulkRequests(pool).then(() => HOUR));

  return {
    supervisor,
    async stop(deadlineMs) {
      await Promise.all([supervisor.stop(deadlineMs), deliveries?.stop(deadlineMs)]);
      await pastDays.stop();
      await Promise.all(Object.values(loops).map((loop) => loop.stop()));
      await campaigns?.stop();
      await fallbacks.stop();
      await exporter.stop();
      await fence.stop();
      await deleteWorkers(pool, { owner: session.owner });
      await session.close();
    },
  };
}

/** Sees to connections that are dead, and to what dead workers saw of theirs; answers when to look again. */
async function moveFromDead({ pool, log, waker, config }: WorkerDeps): Promise<number> {
  if ((await deleteDeadConnectionStatus(pool)) > 0) await notifyLinks(pool);
  const { down, more, moves } = await failOver(pool, { deadAfterMs: config.failoverSeconds * SECOND });
  for (const { from, to, connectionId, messages } of moves) {
    log.warn({ connection: from, count: messages, state: `now at ${to}` }, 'messages moved from a dead connection');
    waker.wake(connectionId);
  }
  if (more) return 0;
  if (moves.length > 0) return SECOND / 4;
  return down ? SECOND : 5 * SECOND;
}

type PumpParts = {
  readonly owner: number;
  readonly fence: Fence;
  readonly connection: Connection;
  readonly carrier: Carrier;
  readonly resolver: Resolver;
};

function pumpFor(deps: WorkerDeps, { owner, fence, connection, carrier, resolver }: PumpParts) {
  const pump = startPump({
    pool: deps.pool,
    connectionId: connection.id,
    owner,
    carrier,
    tps: kindOf(connection).tpsOf(connection.settings),
    load: (chunks) => loadJobs(deps.pool, chunks, resolver),
    settle: settleOutcomes,
    wakeOther: deps.waker.wake,
    paused: fence.paused,
    log: deps.log,
  });
  const off = deps.waker.onWake(connection.id, pump.wake);
  return { ...pump, stop: (deadlineMs: number) => pump.stop(deadlineMs).finally(off) };
}
