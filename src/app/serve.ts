import { ROUTING_CHANNEL } from '../network/connections/sql.ts';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createAuthenticator } from '../identity/authentication/authenticate.ts';
import { createDemoAccount, type NewAccount } from '../operations/accounts/create.ts';
import { buildApi } from './api.ts';
import type { Config } from '../platform/config.ts';
import { createReceivers, type Receivers } from '../network/connections/receivers.ts';
import { createCallbackStore } from '../messaging/callbacks/store.ts';
import { MIGRATIONS_DIR, migrate } from '../platform/db/migrate.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { createPool } from '../platform/db/pool.ts';
import { readOrCreate } from '../platform/db/private-file.ts';
import { isDatabaseStarting } from '../platform/db/startup-error.ts';
import { openWorkerSession } from '../platform/db/worker-session.ts';
import { createWaker, type Waker } from '../network/dispatch/wake.ts';
import { FOLLOWERS } from './followers.ts';
import { registerGauges } from './gauges.ts';
import { healthRoutes } from '../platform/http/health.ts';
import { listen } from '../platform/http/listen.ts';
import { createServer } from '../platform/http/server.ts';
import { closeWithin } from '../platform/http/shutdown.ts';
import { createHub } from '../engagement/inbox/stream/hub.ts';
import { INBOX_CHANNEL } from '../engagement/inbox/stream/sql.ts';
import { createAnswerStore } from '../platform/idempotency/answers.ts';
import { systemClock } from '../platform/lib/clock.ts';
import { startLoop } from '../platform/lib/loop.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import { type AppLog, createLog } from '../platform/log.ts';
import { createAccept } from '../messaging/sending/accept.ts';
import type { Tables } from '../messaging/sending/prepare.ts';
import { createPriceList } from '../money/pricing/price-list.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from '../platform/metrics.ts';
import { openDatabase } from './open-database.ts';
import { createProbes } from './probes.ts';
import { createRouter } from '../network/routing/router.ts';
import {
  assignSandboxNumbers,
  retireSandbox,
  type Sandbox,
  startSandbox,
  isSandboxWanted,
} from '../simulators/sandbox/sandbox.ts';
import { loadSecretKey } from '../platform/secret-key.ts';
import { openStorage } from '../platform/storage/open.ts';
import { createLinkSigner, type LinkSigner } from '../platform/storage/signed-links.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { type Outbound, createOutbound } from '../platform/outbound/outbound.ts';
import { startWorker } from './worker.ts';

/** What one process does: `serve` is all of it. */
export type Roles = { readonly api: boolean; readonly worker: boolean; readonly sandbox: boolean };

export type Program = {
  /** Where the API listens; null without one. */
  readonly address: string | null;
  /** Where a worker alone tells how it is (WORKER_PORT); null with the API, which does, and without that setting. */
  readonly health: string | null;
  /** The demo account, when this start made it. */
  readonly demo: NewAccount | undefined;
  /** Answers what is under way, drains the windows, commits. Resolves within 10 s. */
  stop(): Promise<void>;
};

/** Changes of the routes are heard of at once; this is for one that was missed. */
const ROUTES_MS = 10_000;

const STOP_HTTP_MS = 3000;

type Closer = () => Promise<unknown>;

/** How long PostgreSQL may take to come up, or to recover from a crash, beside us. */
const DATABASE_START_MS = 30_000;
const DATABASE_RETRY_MS = 500;

/**
 * Starts the program, again from the beginning while its database is starting; see `startOnce`. Other processes of a
 * machine are often started beside it, or by what restarts them all after a crash.
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
 * Starts the program: database, schema, sandbox carriers, workers, API, in this order. What was opened is closed in
 * the opposite one, also when a later step fails.
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

/** What every role stands on. */
type Base = {
  readonly config: Config;
  readonly log: AppLog;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly outlet: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  readonly onStop: (close: Closer) => void;
};

type Routing = { readonly tables: Tables; readonly receivers: Receivers; readonly reloadSoon: () => void };

async function open(config: Config, roles: Roles, onStop: Base['onStop']): Promise<Omit<Program, 'stop'>> {
  const { base, embedded } = await openBase(config, onStop);
  const sandbox = roles.sandbox ? await openSandbox(base) : null;
  const demo = embedded && roles.api ? await makeDemo(config, () => createDemoAccount(base.pool)) : undefined;
  if (demo && sandbox) await assignSandboxNumbers(base.pool, demo);
  const routing = await openRouting(base);
  const waker = createWaker(base.pool);
  if (roles.worker) await openWorker(base, { waker, routing, sandbox: sandbox !== null });
  else await hearOfRoutes(base, routing);
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
  return { base: { config, log, secretKey, connectionString, pool, outlet, storage, links, onStop }, embedded };
}

/** Starts the sandbox carriers when they are wanted. */
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
    tables: { findRoute: router.find, findPolicy: router.findPolicy, findPrice: prices.find, maySend: router.maySend },
    receivers,
    reloadSoon: loop.wake,
  };
}

type WorkerParts = { readonly waker: Waker; readonly routing: Routing; readonly sandbox: boolean };

async function openWorker({ onStop, ...base }: Base, { waker, routing, sandbox }: WorkerParts): Promise<void> {
  const { tables, reloadSoon: onRoutingChange } = routing;
  const parts = { waker, tables, clock: systemClock, sandbox: () => sandbox, onRoutingChange };
  const worker = await startWorker({ ...base, ...parts });
  onStop(() => worker.stop(5000));
}

/** For a process without a worker, which would hear of them. */
async function hearOfRoutes({ connectionString, log, onStop }: Base, { reloadSoon }: Routing): Promise<void> {
  const channels = [ROUTING_CHANNEL];
  const session = await openWorkerSession({ connectionString, channels, onNotify: reloadSoon, log });
  onStop(session.close);
}

type ApiParts = { readonly waker: Waker; readonly routing: Routing; readonly sandbox: Sandbox | null };

async function openApi(
  { config, connectionString, pool, log, secretKey, outlet, storage, links, onStop }: Base,
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
  const accept = createAccept({ pool, tables: routing.tables, waker });
  const answers = createAnswerStore({ pool, secretKey });
  const probes = createProbes(pool);
  const parts = { config, pool, log, metrics, authenticate, checkPassword, probes, clock: systemClock };
  const callbacks = { receivers: routing.receivers, storeCallback: createCallbackStore({ pool, log, ...FOLLOWERS }) };
  const { tables } = routing;
  const app = buildApi({
    ...parts,
    ...callbacks,
    accept,
    tables,
    answers,
    secretKey,
    outlet,
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

/** Health and metrics of a process without the API. */
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

/** The credentials are written before they are shown, so that a crash in between does not lose them. */
async function makeDemo(
  config: Config,
  create: () => Promise<NewAccount | undefined>,
): Promise<NewAccount | undefined> {
  const demo = await create();
  if (demo) await readOrCreate(join(config.dataDir, 'demo.json'), () => `${JSON.stringify(demo, null, 2)}\n`);
  return demo;
}
