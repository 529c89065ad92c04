import type { Pool } from 'pg';
import { invitationTasks } from './accounts/invitations.ts';
import { passwordResetTasks, resetRequest } from './accounts/password-reset.ts';
import { secondFactorTasks } from './accounts/second-factors.ts';
import { sessionTasks } from './accounts/sessions.ts';
import { singleSignOnTasks } from './accounts/single-sign-on.ts';
import { wakeCampaignsUsing } from './campaigns/lifecycle.ts';
import { campaignTasks } from './campaigns/runner.ts';
import { cellTasks } from './cells/pass-on.ts';
import type { Carrier } from './channels/carrier.ts';
import { contactImport, importTasks } from './contacts/import.ts';
import { createSignal, endsWithin, type LastRun, type Loop, startLoop, type Task } from './core/background.ts';
import type { Config } from './core/config.ts';
import { partitionTasks } from './core/db/partitions.ts';
import type { WorkerSession } from './core/db/worker-session.ts';
import { faultPoint } from './core/faults.ts';
import { idempotencyTasks } from './core/idempotency.ts';
import { timeOfId } from './core/ids.ts';
import { jobTasks, type Runnable } from './core/jobs.ts';
import type { Log } from './core/log.ts';
import { mailJobs, mailTasks } from './core/mail.ts';
import type { Metrics } from './core/metrics.ts';
import type { Listeners } from './core/notifications.ts';
import type { Outbound, Poster } from './core/outbound-post.ts';
import type { SecretKey } from './core/secrets.ts';
import { fileRemoval, type LinkSigner, type Storage } from './core/storage.ts';
import { type Clock, DAY_MS, SECOND_MS } from './core/time.ts';
import type { Tracing } from './core/tracing.ts';
import type { Settle } from './dispatch/commit.ts';
import type { Express } from './dispatch/express.ts';
import { dispatchTasks, type PumpDeps, startPump, WAKE_CHANNEL, type Waker } from './dispatch/pump.ts';
import { exportJob, exportTasks } from './exports/make.ts';
import { inboxMedia } from './inbox/fetch.ts';
import { receiveIntoInbox } from './inbox/receive.ts';
import { threadAnswers } from './inbox/reply.ts';
import { consentAnswer, consentAnswerTasks } from './inbox/consent-answers.ts';
import { autoAnswer } from './inbox/rules.ts';
import { personSign, type Show } from './inbox/ticks.ts';
import { inboxTasks } from './inbox/watch.ts';
import { createInboundFileLinks, createMediaLinks, type MediaLinks, mediaTasks } from './media/store.ts';
import type { Accept } from './messages/accept.ts';
import { expiryTasks } from './messages/expiry.ts';
import { fallbackTasks } from './messages/fallback.ts';
import { createPersonHash } from './messages/erased.ts';
import { createInboundInbox, inboundTasks, type OnInbound } from './messages/inbound.ts';
import { withReturns } from './messages/stops.ts';
import { type KeywordDeps, keywordPost, keywordReply, keywordTasks, type OnAnswer } from './messages/keywords.ts';
import { withCodes } from './messages/codes.ts';
import { createDailyCaps } from './messages/daily-caps.ts';
import {
  dependsOnNetwork,
  loadRecentJobs,
  mayBePaced,
  withMedia,
  withNetworks,
  withRegistrations,
} from './messages/load.ts';
import type { RecentMessages } from './messages/new-messages.ts';
import type { Revoke } from './messages/next-channel.ts';
import { pollingTasks } from './messages/polling.ts';
import type { Lookups } from './messages/prepare.ts';
import { createSampler, qualityTasks, type Sampler } from './messages/quality.ts';
import { createReceiptIntake, receiptTasks, type TakeReceipt } from './messages/receipts.ts';
import { createRestoreGuard, type RestoreGuard, restoreGuardTasks } from './messages/restore-guard.ts';
import { scheduleTasks } from './messages/schedules.ts';
import { networkBillingTasks } from './messages/network-billing.ts';
import { createReach } from './messages/reach.ts';
import { sendingTasks } from './messages/send-response.ts';
import { settleOutcomes } from './messages/settle.ts';
import { simulationTasks } from './messages/simulation.ts';
import { trafficTasks } from './messages/traffic.ts';
import { alertTasks } from './operate/alerts.ts';
import { optInTasks } from './messages/opt-ins.ts';
import { accountRetentionTasks } from './operate/account-retention.ts';
import { erasureRecordTasks } from './operate/erasure-records.ts';
import { carriedErasures, eraseAgain, personErasure } from './operate/erasures.ts';
import { retentionTasks } from './operate/retention.ts';
import { workerTasks } from './operate/workers.ts';
import { carrierContext, secretOf } from './routing/connections.ts';
import type { Costs } from './routing/costs.ts';
import { kindOf } from './routing/kinds.ts';
import { messagingLimitTasks } from './routing/messaging-limits.ts';
import { lookupTasks } from './routing/number-lookup-store.ts';
import { connectionTasks, type Supervisor, superviseConnections } from './routing/supervise.ts';
import { countUnreadable } from './smpp/session.ts';
import { socialTasks } from './social/profiles.ts';
import { createResolver } from './templates/store.ts';
import { type OnTemplatesChange, templateTasks } from './templates/sync.ts';
import { traceDispatch, traceReceipts } from './traces.ts';
import { verifyTasks } from './verify/tasks.ts';
import { type Deliveries, startDeliveries } from './webhooks/deliver.ts';
import { WEBHOOKS_CHANNEL } from './webhooks/outbox.ts';
import { smppOutboxTasks } from './webhooks/smpp-outbox.ts';

type WorkerDeps = {
  readonly config: Config;
  readonly connectionString: string;
  readonly session: WorkerSession;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly waker: Waker;
  /** Messages that this process accepts, for its pumps. */
  readonly recentMessages: RecentMessages;
  /** Path past the queue: the pumps open their lanes for single sends here. */
  readonly express: Express;
  readonly accept: Accept;
  /** The routes, prices and senders, in memory. */
  readonly tables: Lookups;
  /** Charges of carriers, in memory. */
  readonly costs: Costs;
  readonly outbound: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'registry'>;
  /** Returns true if the sandbox carriers run, so that their connections are supervised. */
  readonly sandbox: () => boolean;
  /** Null if nothing is traced. */
  readonly tracing: Tracing | null;
};

/** The carrier of each connection. */
export const CARRIER = faultPoint<Carrier>();
/** The access to networks that can revoke a message. */
export const REVOKE = faultPoint<Revoke>();
/** The database as the steps of campaigns use it. */
export const CAMPAIGN_POOL = faultPoint<Pool>();
/** The client that posts events to webhooks. */
export const POSTER = faultPoint<Poster>();

type Worker = {
  readonly supervisor: Supervisor;
  /** Stops claiming, drains the windows, commits the outcomes, and returns the rest to the queue. */
  stop(deadlineMs: number): Promise<void>;
};

/**
 * Starts everything that runs in the background: the connections to carriers, the delivery of webhooks, and the tasks,
 * of which this is THE list.
 */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { session, pool, log, config, waker } = deps;
  const { owner } = session;
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
    untilSettled(ids) {
      const own = supervisor.list().filter(({ connection }) => ids.has(connection.id));
      return endsWithin(Promise.all(own.map(({ pump }) => pump.settled())), MAX_SETTLE_MS);
    },
  });
  const sampler = createSampler(now);
  const supervisor: Supervisor = supervise(deps, { owner, guard, takeReceipt, sampler });
  const revoke: Revoke = REVOKE.pass({
    reaches: supervisor.runs,
    ask: (message) => supervisor.revoke(message.connectionId, message),
  });
  const paused = guard.paused;
  const parts = {
    ...deps,
    ...followersWith(deps.secretKey),
    mediaLinks: createMediaLinks({ links: deps.links, publicUrl: config.publicUrl }),
    owner,
    now,
    paused,
    receiptsStored,
    receiptsParked,
    onMatched,
    revoke,
    supervisor,
  };

  // Tasks start in this order and are closed in the reverse order, so that the restore guard is closed last.
  const tasks: readonly Task[] = [
    ...restoreGuardTasks(guard),
    ...workerTasks({ config, pool, owner, states: () => runner.states() }),
    ...receiptTasks(parts),
    ...simulationTasks(parts),
    ...inboundTasks(parts),
    ...keywordTasks(parts),
    ...consentAnswerTasks(parts),
    ...optInTasks(parts),
    ...pollingTasks(parts),
    ...dispatchTasks({ ...parts, settle: settleWith(deps.costs, sampler) }),
    ...connectionTasks(parts),
    ...expiryTasks(parts),
    ...scheduleTasks(parts),
    ...campaignTasks({ ...parts, pool: CAMPAIGN_POOL.pass(pool) }),
    ...fallbackTasks(parts),
    ...trafficTasks(parts),
    ...lookupTasks(parts),
    ...networkBillingTasks(parts),
    ...messagingLimitTasks(parts),
    ...qualityTasks({ ...parts, sampler }),
    ...partitionTasks(parts),
    ...socialTasks(parts),
    ...retentionTasks(parts),
    ...accountRetentionTasks(parts),
    ...erasureRecordTasks(parts, eraseAgain),
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
    ...inboxTasks(parts),
    ...jobTasks({ ...parts, jobs: listJobs({ ...parts, show: supervisor.show, poster: deps.outbound.poster }) }),
    ...mediaTasks(parts),
    ...sendingTasks(parts),
    ...smppOutboxTasks(parts),
    ...verifyTasks(parts),
    ...cellTasks({ ...parts, cells: config.cells }),
  ];
  const runner = createTaskRunner(tasks, { paused, log });
  let deliveries: Deliveries | null = null;
  session.onLost(guard.pauseUntilCheck);
  await session.listen({
    [WAKE_CHANNEL]: (payload) => waker.wakeHere(Number(payload)),
    [WEBHOOKS_CHANNEL]: () => deliveries?.wake(),
  });
  for (const listeners of runner.listeners) await session.listen(listeners);
  await guard.check();
  await supervisor.reload();
  runner.start();
  const started = startDeliveries({
    ...parts,
    fileUrl: createInboundFileLinks({ links: deps.links, publicUrl: config.publicUrl }),
    poster: POSTER.pass(deps.outbound.poster),
  });
  deliveries = started;

  return {
    supervisor,
    async stop(deadlineMs) {
      // Each part stops even if another one fails, as when the database is gone: anything still running keeps the
      // process alive.
      const sending = await Promise.allSettled([supervisor.stop(deadlineMs), started.stop(deadlineMs)]);
      const tasksEnded = await Promise.allSettled([runner.stop()]);
      const failed = [...sending, ...tasksEnded].find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** The kinds of jobs, of which this is THE list. */
const listJobs = (
  parts: WorkerDeps & KeywordDeps & { readonly show: Show; readonly mediaLinks: MediaLinks },
): Runnable[] => [
  autoAnswer.using(parts),
  consentAnswer.using(parts),
  personErasure.using(parts),
  carriedErasures.using(parts),
  keywordReply.using(parts),
  keywordPost.using(parts),
  fileRemoval.using(parts),
  inboxMedia.using(parts),
  personSign.using(parts),
  ...mailJobs(parts),
  contactImport.using(parts),
  exportJob.using(parts),
  ...(parts.config.mail === undefined ? [] : [resetRequest.using(parts)]),
];

/** Longest wait of receipts for outcomes that are being committed. */
const MAX_SETTLE_MS = 500;

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
  const storeInbound = createInboundInbox({ pool, log, metrics: deps.metrics, ...followersWith(secretKey) });
  const unreadable = countUnreadable(deps.metrics);
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
      const secret = secretOf(connection, secretKey);
      const carrier = CARRIER.pass(kindOf(connection).createCarrier(connection.settings, secret, context));
      return trace ? trace.carrier(connection.name, carrier) : carrier;
    },
    startPump(connection, carrier) {
      const priced = { connectionId: connection.id, costs: deps.costs };
      const caps = createDailyCaps(pool);
      const reach = createReach(pool, connection.id);
      const registered = { connectionId: connection.id, senderRules: deps.tables.senderRules };
      const load: PumpDeps['load'] = async (chunks) => {
        const loaded = await loadRecentJobs(pool, chunks, { recent: recentMessages, resolver });
        const jobs = await withCodes(pool, secretKey, chunks, loaded);
        const registeredJobs = withRegistrations(chunks, jobs, registered);
        return withNetworks(pool, await reach.limit(chunks, await caps.limit(registeredJobs)), priced);
      };
      const pump = startPump({
        pool,
        connectionId: connection.id,
        owner,
        carrier,
        onOutcome(job, outcome) {
          caps.settled(job, outcome);
          reach.settled(job, outcome);
        },
        tps: kindOf(connection).tpsOf(connection.settings),
        mustLoad: (job) => dependsOnNetwork(job, priced) || mayBePaced(job, registered),
        load: trace ? trace.load(connection.name, load) : load,
        settle: settleWith(deps.costs, sampler),
        mayBeGone: (messageId) => timeOfId(messageId).getTime() < clock.now().getTime() - retentionMs,
        wakeOther: waker.wake,
        paused: guard.paused,
        log,
      });
      const closeLane = deps.express.open(connection.id, trace ? trace.lane(pump) : pump);
      const off = waker.onWake(connection.id, pump.wake);
      return {
        ...pump,
        shareRate(workers: number) {
          pump.shareRate(workers);
          waker.setShared(connection.id, workers > 1);
        },
        stop(deadlineMs: number) {
          closeLane();
          waker.setShared(connection.id, true);
          return pump.stop(deadlineMs).finally(off);
        },
      };
    },
    onReceipt: (connectionId, receipt) => takeReceipt({ connectionId, receipt }),
    onInbound: (connectionId, inbound, answered) => storeInbound({ connectionId, inbound }, answered),
    onUnreadable: () => unreadable('carrier'),
  });
}

type TaskRunner = {
  /** Wake the tasks that a notification concerns. */
  readonly listeners: readonly Listeners[];
  start(): void;
  /** Returns the started tasks with the results of their last runs. */
  states(): readonly { readonly name: string; readonly last: LastRun }[];
  /**
   * Interrupts the tasks, waits for the runs in progress, and closes the tasks in reverse order. Rejects at the end
   * with the first failure, if there was one.
   */
  stop(): Promise<void>;
};

/**
 * Creates a runner that runs each task in its own loop. While `paused` returns true, pausable tasks check every second.
 */
export function createTaskRunner(
  tasks: readonly Task[],
  { paused, log }: { readonly paused: () => boolean; readonly log: Log },
): TaskRunner {
  const signals = new Map(tasks.map((task) => [task, task.signal ?? createSignal()]));
  const loops = new Map<Task, Loop>();
  return {
    listeners: tasks.map((task) =>
      Object.fromEntries(
        Object.entries(task.wakeOn ?? {}).map(([channel, wakes]) => [
          channel,
          (payload: string) => void (wakes(payload) && signals.get(task)?.raise()),
        ]),
      ),
    ),
    start() {
      for (const task of tasks) {
        const work = task.pausable ? () => (paused() ? Promise.resolve(SECOND_MS) : task.work()) : task.work;
        const { name, maxRetryMs } = task;
        loops.set(task, startLoop(name, work, log, { signal: signals.get(task), maxRetryMs }));
      }
    },
    states: () => [...loops].map(([{ name }, loop]) => ({ name, last: loop.last() })),
    async stop() {
      const ended = [...loops.values()].map((loop) => loop.stop());
      const interrupted = tasks.map(async (task) => task.interrupt?.());
      const results = await Promise.allSettled([...interrupted, ...ended]);
      for (const task of tasks.toReversed()) results.push(...(await Promise.allSettled([task.close?.()])));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** The listeners of features for events of others. Each runs in the transaction of the event. */
type Followers = {
  readonly onInbound: OnInbound;
  readonly onAnswer: OnAnswer;
  readonly onTemplatesChange: OnTemplatesChange;
};

export const followersWith = (secretKey: SecretKey): Followers => ({
  onInbound: withReturns(createPersonHash(secretKey), receiveIntoInbox),
  onAnswer: threadAnswers,
  onTemplatesChange: wakeCampaignsUsing,
});
