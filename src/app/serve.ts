import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createHub } from '../engagement/inbox/stream/hub.ts';
import { INBOX_CHANNEL } from '../engagement/inbox/stream/sql.ts';
import { createAuthenticator } from '../identity/authentication/authenticate.ts';
import { createCallbackStore } from '../messaging/callbacks/store.ts';
import { createRecentMessages, type RecentMessages } from '../messaging/messages/new/recent.ts';
import { createAccept } from '../messaging/sending/accept.ts';
import type { Lookups } from '../messaging/sending/prepare.ts';
import { createPriceList } from '../money/pricing/price-list.ts';
import { createReceivers, type Receivers } from '../network/connections/receivers.ts';
import { ROUTING_CHANNEL } from '../network/connections/sql.ts';
import { createWaker, type Waker } from '../network/dispatch/wake.ts';
import { createRouter } from '../network/routing/router.ts';
import { createDemoAccount, type NewAccount } from '../operations/accounts/create.ts';
import type { Config } from '../platform/config.ts';
import { MIGRATIONS_DIR, migrate } from '../platform/db/migrate.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { createPool } from '../platform/db/pool.ts';
import { readOrCreate } from '../platform/db/private-file.ts';
import { isDatabaseStarting } from '../platform/db/startup-error.ts';
import { openWorkerSession } from '../platform/db/worker-session.ts';
import { healthRoutes } from '../platform/http/health.ts';
import { listen } from '../platform/http/listen.ts';
import { createServer } from '../platform/http/server.ts';
import { closeWithin } from '../platform/http/shutdown.ts';
import { createAnswerStore } from '../platform/idempotency/answers.ts';
import { systemClock } from '../platform/lib/clock.ts';
import { endsWithin } from '../platform/lib/background/ends-within.ts';
import { startLoop } from '../platform/lib/background/loop.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import { type AppLog, createLog } from '../platform/log.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from '../platform/metrics.ts';
import { type Outbound, createOutbound } from '../platform/outbound/outbound.ts';
import { loadSecretKey } from '../platform/secret-key.ts';
import { openStorage } from '../platform/storage/open.ts';
import { createLinkSigner, type LinkSigner } from '../platform/storage/signed-links.ts';
import type { Storage } from '../platform/storage/storage.ts';
import {
  assignSandboxNumbers,
  retireSandbox,
  type Sandbox,
  startSandbox,
  isSandboxWanted,
} from '../simulators/sandbox/sandbox.ts';
import { buildApi } from './api.ts';
import { FOLLOWERS } from './followers.ts';
import { registerGauges } from './gauges.ts';
import { openDatabase } from './open-database.ts';
import { createProbes } from './probes.ts';
import { type Closers, createClosers, NEVER_STOPPING, type Stopping, unlessAborted } from './stop.ts';
import { startWorker } from './worker.ts';

/** The parts of the program that one process runs; `serve` runs all of them. */
export type Roles = { readonly api: boolean; readonly worker: boolean; readonly sandbox: boolean };

export type Program = {
  /** The origin at which the API listens; null without the API. */
  readonly address: string | null;
  /**
   * The origin at which a process without the API serves health and metrics (WORKER_PORT); null without that setting, and
   * with the API, which serves them itself.
   */
  readonly health: string | null;
  /** The demo account, when this start created it. */
  readonly demo: NewAccount | undefined;
  /**
   * Completes the requests in progress, drains the windows and commits the outcomes, within 10 s. What hangs is given up:
   * then it rejects, within 15 s, and says what did not end.
   */
  stop(): Promise<void>;
};

/** Notifications announce changes of routes and prices at once; this interval is for missed ones. */
const ROUTES_MS = 10_000;

const STOP_HTTP_MS = 3000;

/** How long PostgreSQL may take to start, or to recover from a crash, while this program starts. */
const DATABASE_START_MS = 30_000;
const DATABASE_RETRY_MS = 500;
/** How long what is being opened may take to notice that the start was broken off. */
const OPENING_MS = 3000;

/**
 * Starts the program. While its database is still starting, as after a crash of the whole machine, the start is repeated
 * from the beginning for up to 30 seconds. When `stopping.signal` is aborted before the program runs, everything that was
 * opened is closed, and this rejects.
 */
export async function startProgram(config: Config, roles: Roles, stopping = NEVER_STOPPING): Promise<Program> {
  const deadline = performance.now() + DATABASE_START_MS;
  for (;;) {
    try {
      return await startOnce(config, roles, stopping);
    } catch (error) {
      if (!isDatabaseStarting(error) || performance.now() > deadline) throw error;
      await delay(DATABASE_RETRY_MS, undefined, { signal: stopping.signal });
    }
  }
}

/**
 * Opens database, schema, sandbox carriers, worker and API, in this order. Everything is closed in the reverse order, also
 * when a later step fails.
 */
async function startOnce(config: Config, roles: Roles, stopping: Stopping): Promise<Program> {
  const closers = createClosers();
  const opening = open(config, roles, closers, stopping);
  try {
    return { ...(await unlessAborted(opening, stopping.signal)), stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    // What was opened after the start was broken off is closed, too.
    await endsWithin(opening, OPENING_MS).catch(() => undefined);
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

/** What all roles need. */
type Base = {
  readonly config: Config;
  readonly log: AppLog;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly outbound: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  /** Registers how something that was opened is closed; the name is for people. */
  readonly onStop: Closers['add'];
};

type Routing = { readonly tables: Lookups; readonly receivers: Receivers; readonly reloadSoon: () => void };

async function open(
  config: Config,
  roles: Roles,
  closers: Closers,
  stopping: Stopping,
): Promise<Omit<Program, 'stop'>> {
  const { base: opened, embedded } = await openBase(config, closers, stopping);
  const sandbox = roles.sandbox ? await openSandbox(opened) : await missSandbox(opened);
  const base = sandbox ? { ...opened, config: { ...config, social: sandbox.social.apps } } : opened;
  const demo = embedded && roles.api ? await createDemo(config, base.pool) : undefined;
  if (demo && sandbox) await assignSandboxNumbers(base.pool, demo);
  const routing = await openRouting(base);
  const waker = createWaker(base.pool);
  const recentMessages = roles.worker ? createRecentMessages() : null;
  stopping.signal.throwIfAborted();
  if (recentMessages) await openWorker(base, { waker, recentMessages, routing, sandbox: sandbox !== null });
  else await followRouteChanges(base, routing);
  stopping.signal.throwIfAborted();
  const address = roles.api ? await openApi(base, { waker, recentMessages, routing, sandbox }) : null;
  return { address, health: roles.api ? null : await openHealth(base), demo };
}

async function openBase(
  config: Config,
  { add: onStop, addDatabase }: Closers,
  stopping: Stopping,
): Promise<{ base: Base; embedded: boolean }> {
  const log = createLog(config.logLevel, pino.destination(2));
  const secretKey = await loadSecretKey(config);
  const { connectionString, embedded, close } = await openDatabase(config, log, stopping);
  addDatabase(close);
  stopping.signal.throwIfAborted();
  const pool = createPool(connectionString, { max: config.databasePool, applicationName: 'heliograph', log });
  onStop('pool', () => pool.end());
  await migrate(pool, { dir: MIGRATIONS_DIR, log });
  await ensurePartitions(pool, systemClock.now());
  const outlet = await createOutbound(config);
  onStop('webhooks', outlet.poster.close);
  const storage = await openStorage(config);
  onStop('storage', storage.close);
  const links = createLinkSigner(secretKey);
  return {
    base: { config, log, secretKey, connectionString, pool, outbound: outlet, storage, links, onStop },
    embedded,
  };
}

/** Starts the sandbox carriers if they are enabled; otherwise removes everything that leads to them. */
async function openSandbox({ onStop, ...base }: Base): Promise<Sandbox | null> {
  if (!(await isSandboxWanted(base.config, base.pool))) {
    await retireSandbox(base.pool);
    return null;
  }
  const sandbox = await startSandbox(base);
  onStop('sandbox', sandbox.close);
  return sandbox;
}

/** Says that simulated carriers and networks are missing here, where somebody may look for them. */
async function missSandbox({ config, pool, log }: Base): Promise<null> {
  if (await isSandboxWanted(config, pool))
    log.warn(
      'no sandbox in this process: simulated carriers and social networks run only in the command serve; SANDBOX=off hides this',
    );
  return null;
}

async function openRouting({ pool, log, secretKey, onStop }: Base): Promise<Routing> {
  const router = createRouter(pool);
  const prices = createPriceList(pool);
  const receivers = createReceivers({ pool, secretKey, log });
  const reload = (): Promise<unknown> => Promise.all([router.reload(), prices.reload(), receivers.reload()]);
  await reload();
  const loop = startLoop('routes and prices', () => reload().then(() => ROUTES_MS), log);
  onStop('routes and prices', loop.stop);
  return {
    tables: {
      findRoute: router.find,
      findOnUnknown: router.findOnUnknown,
      findPrice: prices.find,
      maySend: router.maySend,
    },
    receivers,
    reloadSoon: loop.wake,
  };
}

type WorkerParts = {
  readonly waker: Waker;
  readonly recentMessages: RecentMessages;
  readonly routing: Routing;
  readonly sandbox: boolean;
};

async function openWorker(
  { onStop, ...base }: Base,
  { waker, recentMessages, routing, sandbox }: WorkerParts,
): Promise<void> {
  const worker = await startWorker({
    ...base,
    waker,
    recentMessages,
    tables: routing.tables,
    clock: systemClock,
    sandbox: () => sandbox,
    onRoutingChange: routing.reloadSoon,
  });
  onStop('worker', () => worker.stop(5000));
}

/** Reloads routes and prices when they change. For a process without a worker, which would listen for changes itself. */
async function followRouteChanges({ connectionString, log, onStop }: Base, { reloadSoon }: Routing): Promise<void> {
  const channels = [ROUTING_CHANNEL];
  const session = await openWorkerSession({ connectionString, channels, onNotify: reloadSoon, log });
  onStop('notifications', session.close);
}

type ApiParts = {
  readonly waker: Waker;
  /** Null in a process without pumps. */
  readonly recentMessages: RecentMessages | null;
  readonly routing: Routing;
  readonly sandbox: Sandbox | null;
};

async function openApi(
  { config, connectionString, pool, log, secretKey, outbound: outlet, storage, links, onStop }: Base,
  { waker, recentMessages, routing, sandbox }: ApiParts,
): Promise<string> {
  const metrics = openMetrics(pool);
  const { authenticate, checkPassword, signInLimits, close, ...counts } = createAuthenticator({ pool, log });
  onStop('authentication', close);
  const inboxHub = createHub({ pool, log });
  const session = await openWorkerSession({
    connectionString,
    log,
    channels: [...counts.channels, INBOX_CHANNEL],
    onNotify(channel, payload) {
      if (channel === INBOX_CHANNEL) inboxHub.wake(payload === '' ? null : Number(payload));
      else counts.onNotify(channel, payload);
    },
  });
  onStop('notifications', session.close);
  const { tables, receivers } = routing;
  const app = buildApi({
    config,
    pool,
    log,
    metrics,
    clock: systemClock,
    probes: createProbes(pool),
    authenticate,
    checkPassword,
    signInLimits,
    receivers,
    storeCallback: createCallbackStore({ pool, log, ...FOLLOWERS }),
    accept: createAccept({ pool, tables, waker, recentMessages }),
    tables,
    answers: createAnswerStore({ pool, secretKey }),
    secretKey,
    outbound: outlet,
    storage,
    links,
    inboxHub,
    socialPage: sandbox?.social.page ?? null,
    onTemplatesChange: FOLLOWERS.onTemplatesChange,
  });
  const address = await listen(app, config);
  onStop('API', () => closeWithin(app, STOP_HTTP_MS));
  if (sandbox) {
    onStop('callbacks of the sandbox', sandbox.stopCallbacks);
    await sandbox.startCallbacks(app.routing);
  }
  return address;
}

/** Serves health and metrics of a process without the API. Returns the origin, or null without WORKER_PORT. */
async function openHealth({ config, pool, log, onStop }: Base): Promise<string | null> {
  if (config.workerPort === undefined) return null;
  const metrics = openMetrics(pool);
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

/** Creates the demo account on a first start. Its credentials are saved before they are shown, so a crash does not lose them. */
async function createDemo(config: Config, pool: Pool): Promise<NewAccount | undefined> {
  const demo = await createDemoAccount(pool);
  if (demo) await readOrCreate(join(config.dataDir, 'demo.json'), () => `${JSON.stringify(demo, null, 2)}\n`);
  return demo;
}
