import type { Pool } from 'pg';
import { campaignTasks } from '../engagement/campaigns/tasks.ts';
import { importTasks } from '../engagement/contacts/imports/tasks.ts';
import { inboxTasks } from '../engagement/inbox/tasks.ts';
import { socialTasks } from '../engagement/social/tasks.ts';
import { invitationTasks } from '../identity/invitations/tasks.ts';
import { passwordResetTasks } from '../identity/password-reset/tasks.ts';
import { secondFactorTasks } from '../identity/second-factors/tasks.ts';
import { sessionTasks } from '../identity/sessions/tasks.ts';
import { singleSignOnTasks } from '../identity/single-sign-on/tasks.ts';
import { createMediaLinks } from '../media/links.ts';
import { mediaTasks } from '../media/tasks.ts';
import { expiryTasks } from '../messaging/expiry/tasks.ts';
import type { Revoke } from '../messaging/fallback/ends.ts';
import { fallbackTasks } from '../messaging/fallback/tasks.ts';
import { createInboundInbox } from '../messaging/inbound/receive.ts';
import { inboundTasks } from '../messaging/inbound/tasks.ts';
import { keywordTasks } from '../messaging/keywords/tasks.ts';
import { settleOutcomes } from '../messaging/messages/settle-outcomes.ts';
import { loadRecentJobs } from '../messaging/messages/load.ts';
import type { RecentMessages } from '../messaging/messages/new/recent.ts';
import { withMedia } from '../messaging/messages/with-media.ts';
import { withNetworks } from '../messaging/messages/with-networks.ts';
import { createSampler, type Sampler } from '../messaging/quality/sampler.ts';
import { qualityTasks } from '../messaging/quality/tasks.ts';
import { pollingTasks } from '../messaging/polling/tasks.ts';
import { createReceiptIntake, type TakeReceipt } from '../messaging/receipts/intake.ts';
import { receiptTasks } from '../messaging/receipts/tasks.ts';
import { createRestoreGuard, type RestoreGuard } from '../messaging/restore-guard/guard.ts';
import { restoreGuardTasks } from '../messaging/restore-guard/tasks.ts';
import { scheduleTasks } from '../messaging/schedules/tasks.ts';
import { createAccept } from '../messaging/sending/accept.ts';
import type { Lookups } from '../messaging/sending/prepare.ts';
import { sendingTasks } from '../messaging/sending/tasks.ts';
import { simulationTasks } from '../messaging/simulation/tasks.ts';
import { smppOutboxTasks } from '../messaging/smpp-outbox/tasks.ts';
import { trafficTasks } from '../messaging/traffic/tasks.ts';
import { type Deliveries, startDeliveries } from '../messaging/webhooks/delivery/deliver.ts';
import { WEBHOOKS_CHANNEL } from '../messaging/webhooks/outbox/sql.ts';
import { carrierContext } from '../network/connections/context.ts';
import { kindOf } from '../network/connections/kinds/kinds.ts';
import { secretOf } from '../network/connections/save.ts';
import type { Costs } from '../network/costs/cost-list.ts';
import { ROUTING_CHANNEL } from '../network/connections/sql.ts';
import { superviseConnections, type Supervisor } from '../network/connections/supervise.ts';
import { connectionTasks } from '../network/connections/tasks.ts';
import type { Settle } from '../network/dispatch/commit.ts';
import { type PumpDeps, startPump } from '../network/dispatch/pump.ts';
import { dispatchTasks } from '../network/dispatch/tasks.ts';
import { WAKE_CHANNEL, type Waker } from '../network/dispatch/wake.ts';
import { lookupTasks } from '../network/number-lookups/tasks.ts';
import { createResolver } from '../network/templates/resolve.ts';
import { templateTasks } from '../network/templates/tasks.ts';
import { cellTasks } from '../cells/pass-on.ts';
import { alertTasks } from '../operations/operator/alerts/tasks.ts';
import { retentionTasks } from '../operations/retention/tasks.ts';
import { workerTasks } from '../operations/workers/tasks.ts';
import type { Config } from '../platform/config.ts';
import { partitionTasks } from '../platform/db/tasks.ts';
import { newOwnerKey, openWorkerSession } from '../platform/db/worker-session.ts';
import { idempotencyTasks } from '../platform/idempotency/tasks.ts';
import type { Clock } from '../platform/lib/clock.ts';
import { timeOfId } from '../platform/lib/ids.ts';
import { DAY_MS } from '../platform/lib/time.ts';
import type { Log } from '../platform/lib/log.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import { createSignal } from '../platform/lib/background/signal.ts';
import type { Task } from '../platform/lib/background/task.ts';
import { mailTasks } from '../platform/mail/tasks.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { LinkSigner } from '../platform/storage/signed-links.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { Tracing } from '../platform/tracing.ts';
import { storageTasks } from '../platform/storage/tasks.ts';
import { exportTasks } from '../reporting/exports/tasks.ts';
import { FOLLOWERS } from './followers.ts';
import { createTaskRunner } from './run-tasks.ts';
import { traceDispatch, traceReceipts } from './tracing.ts';

export type WorkerDeps = {
  readonly config: Config;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly waker: Waker;
  /** Messages that this process accepts, for its pumps. */
  readonly recentMessages: RecentMessages;
  /** The routes, prices and senders, in memory. */
  readonly tables: Lookups;
  /** Charges of carriers, in memory. */
  readonly costs: Costs;
  readonly outbound: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns true if the sandbox carriers run, so that their connections are supervised. */
  readonly sandbox: () => boolean;
  /** Called when routes or connections have changed. */
  readonly onRoutingChange: () => void;
  /** Null if nothing is traced. */
  readonly tracing: Tracing | null;
};

export type Worker = {
  readonly supervisor: Supervisor;
  /** Stops claiming, drains the windows, commits the outcomes, and returns the rest to the queue. */
  stop(deadlineMs: number): Promise<void>;
};

/**
 * Starts everything that runs in the background: the connections to carriers, the delivery of webhooks, and the tasks,
 * of which this is THE list.
 */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { pool, log, config, waker } = deps;
  const owner = newOwnerKey();
  const now = (): Date => deps.clock.now();
  const guard = createRestoreGuard({ dataDir: config.dataDir, pool, owner: () => owner, log });
  const receiptsStored = createSignal();
  const receiptsParked = createSignal();
  const onMatched = deps.tracing ? traceReceipts(deps.tracing) : undefined;
  const takeReceipt = createReceiptIntake({
    pool,
    now,
    log,
    onMatched,
    onStored: receiptsStored.raise,
    onParked: receiptsParked.raise,
  });
  const sampler = createSampler(now);
  const supervisor = supervise(deps, { owner, guard, takeReceipt, sampler });
  const revoke: Revoke = {
    reaches: supervisor.runs,
    ask: (message) => supervisor.revoke(message.connectionId, message),
  };
  const paused = guard.paused;
  const parts = {
    ...deps,
    ...FOLLOWERS,
    owner,
    now,
    paused,
    receiptsStored,
    receiptsParked,
    onMatched,
    revoke,
    supervisor,
  };
  const accept = createAccept(deps);

  // Tasks start in this order and are closed in the reverse order, so that the restore guard is closed last.
  const tasks: readonly Task[] = [
    ...restoreGuardTasks(guard),
    ...workerTasks({ config, pool, owner, states: () => runner.states() }),
    ...receiptTasks(parts),
    ...simulationTasks(parts),
    ...inboundTasks(parts),
    ...keywordTasks({ ...parts, accept, poster: deps.outbound.poster }),
    ...pollingTasks(parts),
    ...dispatchTasks({ ...parts, settle: settleWith(deps.costs, sampler) }),
    ...connectionTasks(parts),
    ...expiryTasks(parts),
    ...scheduleTasks(parts),
    ...campaignTasks(parts),
    ...fallbackTasks({ ...parts, accept }),
    ...trafficTasks(parts),
    ...lookupTasks(parts),
    ...qualityTasks({ ...parts, sampler }),
    ...partitionTasks(parts),
    ...socialTasks(parts),
    ...retentionTasks(parts),
    ...sessionTasks(parts),
    ...secondFactorTasks(parts),
    ...singleSignOnTasks(parts),
    ...passwordResetTasks(parts),
    ...invitationTasks(parts),
    ...mailTasks(parts),
    ...alertTasks(parts),
    ...idempotencyTasks(parts),
    ...importTasks(parts),
    ...exportTasks(parts),
    ...templateTasks(parts),
    ...inboxTasks({ ...parts, accept }),
    ...storageTasks(parts),
    ...mediaTasks(parts),
    ...sendingTasks(parts),
    ...smppOutboxTasks(parts),
    ...cellTasks({ ...parts, cells: config.cells }),
  ];
  const runner = createTaskRunner(tasks, { paused, log });
  let deliveries: Deliveries | null = null;
  const listeners: Readonly<Record<string, (payload: string) => void>> = {
    [WAKE_CHANNEL]: (payload) => waker.wakeHere(Number(payload)),
    [WEBHOOKS_CHANNEL]: () => deliveries?.wake(),
    [ROUTING_CHANNEL]: deps.onRoutingChange,
  };
  const session = await openWorkerSession({
    connectionString: deps.connectionString,
    owner,
    channels: [...new Set([...Object.keys(listeners), ...runner.channels])],
    onNotify(channel, payload) {
      listeners[channel]?.(payload);
      runner.onNotify(channel, payload);
    },
    onLost: guard.pauseUntilCheck,
    log,
  });
  try {
    await guard.check();
    await supervisor.reload();
  } catch (error) {
    await session.close();
    throw error;
  }
  runner.start();
  const started = startDeliveries({ ...parts, poster: deps.outbound.poster });
  deliveries = started;

  return {
    supervisor,
    async stop(deadlineMs) {
      // Each part stops even if another one fails, as when the database is gone: anything still running keeps the
      // process alive.
      const sending = await Promise.allSettled([supervisor.stop(deadlineMs), started.stop(deadlineMs)]);
      const tasksEnded = await Promise.allSettled([runner.stop()]);
      const closed = await Promise.allSettled([session.close()]);
      const failed = [...sending, ...tasksEnded, ...closed].find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** Settles outcomes with the charges of their carriers, and observes their final states. */
const settleWith =
  (costs: Costs, sampler: Sampler): Settle =>
  (tx, results, again) => {
    sampler.note(results);
    return settleOutcomes(tx, results, again, costs);
  };

type SuperviseParts = {
  readonly owner: number;
  readonly guard: RestoreGuard;
  readonly takeReceipt: TakeReceipt;
  readonly sampler: Sampler;
};

/** Runs a carrier and a pump for each connection. Reports of carriers are committed before they are acknowledged. */
function supervise(deps: WorkerDeps, { owner, guard, takeReceipt, sampler }: SuperviseParts): Supervisor {
  const { pool, log, clock, secretKey, waker, recentMessages } = deps;
  const storeInbound = createInboundInbox({ pool, ...FOLLOWERS });
  const retentionMs = deps.config.retentionDays * DAY_MS;
  const links = createMediaLinks({ links: deps.links, publicUrl: deps.config.publicUrl });
  const trace = deps.tracing && traceDispatch(deps.tracing);
  const resolver = withMedia({ pool, storage: deps.storage, links, clock }, createResolver(pool));
  return superviseConnections({
    pool,
    owner,
    log,
    sandbox: deps.sandbox,
    makeCarrier(connection) {
      const context = carrierContext(deps.config, connection);
      const carrier = kindOf(connection).createCarrier(connection.settings, secretOf(connection, secretKey), context);
      return trace ? trace.carrier(connection.name, carrier) : carrier;
    },
    startPump(connection, carrier) {
      const priced = { connectionId: connection.id, costs: deps.costs };
      const load: PumpDeps['load'] = async (chunks) =>
        withNetworks(pool, await loadRecentJobs(pool, chunks, { recent: recentMessages, resolver }), priced);
      const pump = startPump({
        pool,
        connectionId: connection.id,
        owner,
        carrier,
        tps: kindOf(connection).tpsOf(connection.settings),
        load: trace ? trace.load(connection.name, load) : load,
        settle: settleWith(deps.costs, sampler),
        mayBeGone: (messageId) => timeOfId(messageId).getTime() < clock.now().getTime() - retentionMs,
        wakeOther: waker.wake,
        paused: guard.paused,
        log,
      });
      const off = waker.onWake(connection.id, pump.wake);
      return {
        ...pump,
        shareRate(workers: number) {
          pump.shareRate(workers);
          waker.setShared(connection.id, workers > 1);
        },
        stop(deadlineMs: number) {
          waker.setShared(connection.id, true);
          return pump.stop(deadlineMs).finally(off);
        },
      };
    },
    onReceipt: (connectionId, receipt) => takeReceipt({ connectionId, receipt }),
    onInbound: (connectionId, inbound) => storeInbound({ connectionId, inbound }),
  });
}
