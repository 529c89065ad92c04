import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createHub } from '../engagement/inbox/stream/hub.ts';
import { INBOX_CHANNEL } from '../engagement/inbox/stream/sql.ts';
import { createAuthenticator } from '../identity/authentication/authenticate.ts';
import { createCallbackStore } from '../messaging/callbacks/store.ts';
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
  /** Completes the requests in progress, drains the windows and commits the outcomes. Resolves within 10 s. */
  stop(): Promise<void>;
};

/** Notifications announce changes of routes and prices at once; this interval is for missed ones. */
const ROUTES_MS = 10_000;

const STOP_HTTP_MS = 3000;

type Closer = () => Promise<unknown>;

/** How long PostgreSQL may take to start, or to recover from a crash, while this program starts. */
const DATABASE_START_MS = 30_000;
const DATABASE_RETRY_MS = 500;

/**
 * Starts the program. While its database is still starting, as after a crash of the whole machine, the start is repeated
 * from the beginning for up to 30 seconds.
 */
export async function startProgram(config: Config, roles: Roles): Promise<Program> {
  const deadline = performance.now() + DATABASE_START_MS;
  for (;;) {
    try {
      return await startOnce(config, roles);
    } catch (error) {
      if (!isDatabaseStarting(error) || performance.now() > deadline) throw error;
      await delay(DATABASE_RETRY_MS);
    }
  }
}

/**
 * Opens database, schema, sandbox carriers, worker and API, in this order. Everything is closed in the reverse order, also
 * when a later step fails.
 */
async function startOnce(config: Config, roles: Roles): Promise<Program> {
  const closers: Closer[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    return { ...(await open(config, roles, (close) => closers.push(close))), stop };
  } catch (error) {
    await stop().catch(() => undefined);
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
  readonly onStop: (close: Closer) => void;
};

type Routing = { readonly tables: Lookups; readonly receivers: Receivers; readonly reloadSoon: () => void };

async function open(config: Config, roles: Roles, onStop: Base['onStop']): Promise<Omit<Program, 'stop'>> {
  const { base, embedded } = await openBase(config, onStop);
  const sandbox = roles.sandbox ? await openSandbox(base) : null;
  const demo = embedded && roles.api ? await createDemo(config, base.pool) : undefined;
  if (demo && sandbox) await assignSandboxNumbers(base.pool, demo);
  const routing = await openRouting(base);
  const waker = createWaker(base.pool);
  if (roles.worker) await openWorker(base, { waker, routing, sandbox: sandbox !== null });
  else await followRouteChanges(base, routing);
  const address = roles.api ? await openApi(base, { waker, routing, sandbox }) : null;
  return { address, health: roles.api ? null : await openHealth(base), demo };
}

async function openBase(config: Config, onStop: Base['onStop']): Promise<{ base: Base; embedded: boolean }> {
  const log = createLog(config.logLevel, pino.destination(2));
  const secretKey = await loadSecretKey(config);
  const { connectionString, embedded, close } = await openDatabase(config, log);
  onStop(close);
  const pool = createPool(connectionString, { max: config.databasePool, applicationName: 'heliograph', log });
  onStop(() => pool.end());
  await migrate(pool, { dir: MIGRATIONS_DIR, log });
  await ensurePartitions(pool, systemClock.now());
  const outlet = await createOutbound(config.webhooks);
  onStop(outlet.poster.close);
  const storage = await openStorage(config);
  onStop(storage.close);
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
  onStop(sandbox.close);
  return sandbox;
}

async function openRouting({ pool, log, secretKey, onStop }: Base): Promise<Routing> {
  const router = createRouter(pool);
  const prices = createPriceList(pool);
  const receivers = createReceivers({ pool, secretKey, log });
  const reload = (): Promise<unknown> => Promise.all([router.reload(), prices.reload(), receivers.reload()]);
  await reload();
  const loop = startLoop('routes and prices', () => reload().then(() => ROUTES_MS), log);
  onStop(loop.stop);
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

type WorkerParts = { readonly waker: Waker; readonly routing: Routing; readonly sandbox: boolean };

async function openWorker({ onStop, ...base }: Base, { waker, routing, sandbox }: WorkerParts): Promise<void> {
  const worker = await startWorker({
    ...base,
    waker,
    tables: routing.tables,
    clock: systemClock,
    sandbox: () => sandbox,
    onRoutingChange: routing.reloadSoon,
  });
  onStop(() => worker.stop(5000));
}

/** Reloads routes and prices when they change. For a process without a worker, which would listen for changes itself. */
async function followRouteChanges({ connectionString, log, onStop }: Base, { reloadSoon }: Routing): Promise<void> {
  const channels = [ROUTING_CHANNEL];
  const session = await openWorkerSession({ connectionString, channels, onNotify: reloadSoon, log });
  onStop(session.close);
}

type ApiParts = { readonly waker: Waker; readonly routing: Routing; readonly sandbox: Sandbox | null };

async function openApi(
  { config, connectionString, pool, log, secretKey, outbound: outlet, storage, links, onStop }: Base,
  { waker, routing, sandbox }: ApiParts,
): Promise<string> {
  const metrics = openMetrics(pool);
  const { authenticate, checkPassword, close, ...counts } = createAuthenticator({ pool, log });
  onStop(close);
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
  onStop(session.close);
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
    receivers,
    storeCallback: createCallbackStore({ pool, log, ...FOLLOWERS }),
    accept: createAccept({ pool, tables, waker }),
    tables,
    answers: createAnswerStore({ pool, secretKey }),
    secretKey,
    outbound: outlet,
    storage,
    links,
    inboxHub,
    onTemplatesChange: FOLLOWERS.onTemplatesChange,
  });
  const address = await listen(app, config);
  onStop(() => closeWithin(app, STOP_HTTP_MS));
  if (sandbox) {
    onStop(sandbox.stopCallbacks);
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
  onStop(() => closeWithin(app, STOP_HTTP_MS));
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
