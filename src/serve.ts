import type { Pool } from 'pg';
import { ACCOUNTS_CHANNEL } from './accounts/accounts.ts';
import { createAuthenticator } from './accounts/authenticate.ts';
import type { LoginLimits } from './accounts/password.ts';
import { type ApiDeps, buildApi } from './api.ts';
import {
  type Base,
  type Closers,
  createDemo,
  NEVER_STOPPING,
  openBase,
  openSandbox,
  openSession,
  type Stopping,
  startWith,
  warnSandboxNotRunning,
} from './base.ts';
import { startLoop } from './core/background.ts';
import type { Config } from './core/config.ts';
import { createReports } from './core/db/reports.ts';
import { createSharedLimiter } from './core/db/shared-limiter.ts';
import type { WorkerSession } from './core/db/worker-session.ts';
import { faultPoint } from './core/faults.ts';
import { healthRoutes } from './core/http/health.ts';
import { closeWithin, createServer, listen } from './core/http/server.ts';
import { type AnswerStore, createAnswerStore } from './core/idempotency.ts';
import type { Log } from './core/log.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from './core/metrics.ts';
import type { Listeners } from './core/notifications.ts';
import { systemClock } from './core/time.ts';
import type { Tracing } from './core/tracing.ts';
import { countSingles, createExpress, type Express } from './dispatch/express.ts';
import { createWaker, type Waker } from './dispatch/pump.ts';
import { INBOX_CHANNEL } from './inbox/conversations.ts';
import { createPresence, PRESENCE_CHANNEL } from './inbox/presence.ts';
import { createHub } from './inbox/stream.ts';
import { type Accept, createAccept } from './messages/accept.ts';
import { createPersonHash } from './messages/erased.ts';
import { createOptOutLink } from './messages/opt-out-links.ts';
import { createCallbackStore } from './messages/callbacks.ts';
import { claimKept, createKeepUnclaimed } from './messages/unclaimed-callbacks.ts';
import { createRecentMessages, type RecentMessages } from './messages/new-messages.ts';
import type { Lookups } from './messages/prepare.ts';
import { createPriceList } from './money/pricing.ts';
import type { NewAccount } from './operate/account-commands.ts';
import { alertTasks } from './operate/alerts.ts';
import { applyErasuresAtStart } from './operate/erasure-records.ts';
import { eraseAgain } from './operate/erasures.ts';
import { createProbes, registerGauges } from './probes.ts';
import { ROUTING_CHANNEL } from './routing/connection-store.ts';
import { type Costs, createCostList } from './routing/costs.ts';
import { createNetworkFinder, openService } from './routing/number-lookups.ts';
import { createTlvTags } from './routing/account-tlvs.ts';
import { createDltTemplates } from './routing/dlt-templates.ts';
import { createRouter } from './routing/router.ts';
import { createSenderRules } from './routing/sender-rules.ts';
import { createReceivers, type Receivers } from './routing/supervise.ts';
import { startCallbackServer } from './sandbox/sandbox.ts';
import type { Sandbox } from './sandbox/sandbox-store.ts';
import { countUnreadable } from './smpp/session.ts';
import { countRefusedConnections, countSubmits, type SmppServer, startSmppServer } from './smpp-server/server.ts';
import { openTracing, traceReceipts } from './traces.ts';
import { createSubscriptions } from './webhooks/outbox.ts';
import { SMPP_CHANNEL } from './webhooks/smpp-outbox.ts';
import { createTaskRunner, followersWith, startWorker } from './worker.ts';

/** The parts of the program that one process runs; `serve` runs all of them. */
export type Roles = { readonly api: boolean; readonly worker: boolean; readonly sandbox: boolean };

export type Program = {
  /** The origin at which the API listens; null without the API. */
  readonly address: string | null;
  /**
   * The origin at which a process without the API serves health and metrics (WORKER_PORT); null without that setting,
   * and with the API, which serves them itself.
   */
  readonly health: string | null;
  readonly demo: NewAccount | undefined;
  /**
   * Completes the requests in progress, drains the windows and commits the outcomes, within 10 s. Work that hangs is
   * abandoned: then it rejects, within 15 s, and names what did not end.
   */
  stop(): Promise<void>;
};

/** Notifications announce changes of routes and prices immediately; this interval covers missed ones. */
const ROUTES_MS = 10_000;

const STOP_HTTP_MS = 3000;

/** The server of the API, before its routes are loaded. */
export const APP = faultPoint<ReturnType<typeof buildApi>>();
/** The stored responses to requests with an Idempotency-Key. */
export const ANSWERS = faultPoint<AnswerStore>();
/** The lanes of single sends past the queue. */
export const EXPRESS = faultPoint<Express>();

/** Starts the program, as `startWith` does, with these roles in this process. */
export const startProgram = (config: Config, roles: Roles, stopping: Stopping = NEVER_STOPPING): Promise<Program> =>
  startWith(stopping, (closers) => open(config, roles, { closers, stopping }));

/** Opens sandbox carriers, worker and API on the database, in this order. */
async function open(
  config: Config,
  roles: Roles,
  { closers, stopping }: { closers: Closers; stopping: Stopping },
): Promise<Omit<Program, 'stop'>> {
  const { base: opened, embedded } = await openBase(config, closers, stopping);
  await applyErasuresAtStart(opened, eraseAgain);
  const session = await openSession(opened);
  const sandbox = roles.sandbox ? await openSandbox(opened, session) : await warnSandboxNotRunning(opened);
  const apps = sandbox?.social.apps;
  const base = apps ? { ...opened, config: { ...config, social: apps } } : opened;
  const demo = embedded && roles.api ? await createDemo(base, sandbox) : undefined;
  const metrics = openMetrics(base.pool);
  const tracing = openTracing(base);
  const routing = await openRouting(base);
  await session.listen({ [ROUTING_CHANNEL]: routing.reloadSoon });
  const waker = createWaker(base.pool);
  const recentMessages = roles.worker ? createRecentMessages() : null;
  const express = EXPRESS.pass(createExpress(countSingles(metrics)));
  const accept = createAccept({ pool: base.pool, tables: routing.tables, waker, recentMessages, express, tracing });
  stopping.signal.throwIfAborted();
  const sending = { session, waker, express, accept, routing, metrics, tracing };
  if (recentMessages) await openWorker(base, { ...sending, recentMessages, sandbox: apps !== undefined });
  else watchWithoutWorker(base);
  stopping.signal.throwIfAborted();
  const parts = { session, accept, routing, sandbox, metrics, tracing };
  const address = roles.api ? await openApi(base, parts) : null;
  return { address, health: roles.api ? null : await openHealth(base, metrics), demo };
}

type Routing = {
  readonly tables: Lookups;
  readonly costs: Costs;
  readonly receivers: Receivers;
  readonly reloadSoon: () => void;
};

export async function openRouting({ config, pool, log, secretKey, outbound, onStop }: Base): Promise<Routing> {
  const costs = createCostList(pool);
  const senderRules = createSenderRules(pool);
  const router = createRouter(pool, costs.find, costs.dependsOnNetwork, senderRules);
  const prices = createPriceList(pool);
  const outside = { secretKey, guard: outbound.guard };
  const tlvTags = createTlvTags(pool);
  const subscriptions = createSubscriptions(pool);
  const dltTemplates = createDltTemplates(pool);
  const networks = createNetworkFinder({
    pool,
    log,
    networkUse: router.networkUse,
    open: (service) => openService(service, outside),
    perDay: config.numberLookupsPerDay,
  });
  onStop('look-ups', networks.close);
  const receivers = createReceivers({ pool, secretKey, log });
  const reload = (): Promise<unknown> =>
    Promise.all(
      [router, prices, costs, senderRules, networks, tlvTags, dltTemplates, receivers, subscriptions].map((part) =>
        part.reload(),
      ),
    );
  await reload();
  const loop = startLoop('routes and prices', () => reload().then(() => ROUTES_MS), log);
  onStop('routes and prices', loop.stop);
  return {
    tables: {
      findRoute: router.find,
      findPrice: prices.find,
      dependsOnWindow: prices.dependsOnWindow,
      freeMessages: config.whatsappFreeMessages,
      maySend: router.maySend,
      senderRules,
      networks,
      tlvTags,
      dltTemplates,
      hashOfPerson: createPersonHash(secretKey),
      optOutLink: createOptOutLink(config, secretKey),
      takesAccepted: subscriptions.takesAccepted,
    },
    costs,
    receivers,
    reloadSoon: loop.wake,
  };
}

type WorkerParts = {
  readonly session: WorkerSession;
  readonly waker: Waker;
  readonly express: Express;
  readonly accept: Accept;
  readonly recentMessages: RecentMessages;
  readonly routing: Routing;
  readonly sandbox: boolean;
  readonly metrics: Metrics;
  readonly tracing: Tracing | null;
};

async function openWorker(
  { onStop, ...base }: Base,
  { session, waker, express, accept, recentMessages, routing, sandbox, metrics, tracing }: WorkerParts,
): Promise<void> {
  const worker = await startWorker({
    ...base,
    session,
    waker,
    express,
    accept,
    recentMessages,
    tables: routing.tables,
    costs: routing.costs,
    clock: systemClock,
    metrics,
    sandbox: () => sandbox,
    tracing,
  });
  onStop('worker', () => worker.stop(5000));
}

/** Watches for alerts, such as one for no running worker, in a process without a worker, which would do it itself. */
function watchWithoutWorker({ onStop, ...base }: Base): void {
  const tasks = createTaskRunner(alertTasks({ ...base, now: systemClock.now }), { paused: () => false, log: base.log });
  tasks.start();
  onStop('alerts', tasks.stop);
}

type ApiParts = {
  readonly accept: Accept;
  readonly routing: Routing;
  readonly sandbox: Sandbox | null;
  readonly metrics: Metrics;
  readonly tracing: Tracing | null;
};

/** The parts of the API that also act outside of requests. */
type ApiServices = {
  readonly deps: ApiDeps;
  readonly loginLimits: LoginLimits;
  readonly listeners: Listeners;
};

/** Opens everything that the routes of the program need, in a process that may have no server. */
export function openApiDeps(
  { onStop, ...base }: Base,
  { accept, routing, sandbox, metrics, tracing }: ApiParts,
): ApiServices {
  const { config, pool, log, secretKey } = base;
  const authenticator = createAuthenticator({ pool, log });
  const { authenticate, checkPassword, countSigned, signInLimits, loginLimits, close, listeners } = authenticator;
  onStop('authentication', close);
  const followers = followersWith(secretKey);
  const inboxHub = createHub({ pool, log });
  const presence = createPresence(pool);
  const { tables, receivers } = routing;
  const reports = createReports({ pool, standbysUrl: config.databaseUrlRead, log });
  onStop('standbys', reports.close);
  const deps: ApiDeps = {
    ...base,
    reports,
    metrics,
    clock: systemClock,
    probes: createProbes(pool),
    authenticate,
    checkPassword,
    countSigned,
    signInLimits,
    receivers,
    storeCallback: createCallbackStore({
      pool,
      clock: systemClock,
      log,
      metrics,
      ...followers,
      onMatched: tracing ? traceReceipts(tracing) : undefined,
    }),
    keepUnclaimed: createKeepUnclaimed({ pool, log, metrics }),
    accept,
    tracing,
    tables,
    answers: ANSWERS.pass(createAnswerStore({ pool, secretKey })),
    inboxHub,
    presence,
    socialPage: sandbox?.social.page ?? null,
    onTemplatesChange: followers.onTemplatesChange,
  };
  return {
    deps,
    loginLimits,
    listeners: {
      ...listeners,
      [INBOX_CHANNEL]: (payload) => inboxHub.wake(payload === '' ? null : Number(payload)),
      [PRESENCE_CHANNEL]: presence.hear,
    },
  };
}

async function openApi(
  base: Base,
  { session, ...parts }: ApiParts & { readonly session: WorkerSession },
): Promise<string> {
  const { config, pool, log, onStop } = base;
  const { sandbox, metrics } = parts;
  const { deps, loginLimits, listeners } = openApiDeps(base, parts);
  const smpp = openSmpp({ config, pool, log, limits: loginLimits, metrics, onStop });
  await session.listen(listeners);
  await session.listen(smpp.listeners);
  const claims = startLoop('callbacks of new connections', () => claimKept(deps), log);
  onStop('callbacks of new connections', claims.stop);
  const app = APP.pass(buildApi(deps));
  const address = await listen(app, config);
  onStop('API', () => closeWithin(app, STOP_HTTP_MS));
  await smpp.listen({ accept: deps.accept, owner: session.owner });
  if (sandbox) {
    const callbacks = await startCallbackServer(app.routing);
    onStop('callbacks of the sandbox', callbacks.close);
    await sandbox.startCallbacks(callbacks.port);
  }
  return address;
}

/** Serves health and metrics of a process without the API. Returns the origin, or null without WORKER_PORT. */
async function openHealth({ config, pool, log, onStop }: Base, metrics: Metrics): Promise<string | null> {
  if (config.workerPort === undefined) return null;
  const app = createServer({ config, log, metrics });
  healthRoutes(app, { probes: createProbes(pool), metrics });
  const origin = await listen(app, config, { port: config.workerPort, setting: 'WORKER_PORT' });
  onStop('health', () => closeWithin(app, STOP_HTTP_MS));
  return origin;
}

function openMetrics(pool: Pool): Metrics {
  const metrics = createMetrics();
  collectProcessMetrics(metrics);
  registerGauges(metrics.registry, pool);
  return metrics;
}

const SENDS_CHANNEL = 'heliograph_smpp_sends';

type Parts = {
  readonly config: Config;
  readonly pool: Pool;
  readonly log: Log;
  readonly limits: LoginLimits;
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly onStop: Closers['add'];
};

/** The SMPP server of a process with the API. Without a port, it has no listeners and listens nowhere. */
function openSmpp({ config, pool, log, limits, metrics, onStop }: Parts) {
  const isWanted = config.smpp.port !== undefined || config.smpp.tlsPort !== undefined;
  const limiter = createSharedLimiter({ db: pool, log, channel: SENDS_CHANNEL });
  let server: SmppServer | null = null;
  const listeners: Listeners = {
    [SENDS_CHANNEL]: limiter.onNotify,
    [SMPP_CHANNEL]: () => server?.onDeliveries(),
    [ACCOUNTS_CHANNEL]: (payload) => server?.onAccountChange(payload),
  };
  return {
    listeners: isWanted ? listeners : {},
    /** Starts to listen, as the process with this advisory lock. */
    async listen({ accept, owner }: { readonly accept: Accept; readonly owner: number }): Promise<void> {
      if (!isWanted) return;
      onStop('SMPP sends', limiter.close);
      const { passedTags, unboundPerMinute } = config.smpp;
      const limited = { limits, limiter, passedTags, unboundPerMinute };
      const options = { listen: config.smpp, pool, accept, clock: systemClock, ...limited };
      const count = countUnreadable(metrics);
      const started = await startSmppServer({
        ...options,
        owner,
        log,
        answered: countSubmits(metrics),
        refused: countRefusedConnections(metrics),
        unreadable: () => count('customer'),
      });
      server = started;
      onStop('SMPP server', () => started.close());
    },
  };
}
