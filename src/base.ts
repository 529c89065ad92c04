import type { Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { GATEWAY_ACCOUNT_ID, systemAuthor } from './accounts/audit.ts';
import { type Cells, createCells, createDirectory, followPlacements, openDirectory } from './cells/directory.ts';
import { createDirectoryListener } from './cells/routes.ts';
import { endsWithin } from './core/background.ts';
import type { CommandContext } from './core/cli.ts';
import type { Config } from './core/config.ts';
import { acquireServeLock, startEmbedded } from './core/db/embedded.ts';
import { ensureCell, MIGRATIONS_DIR, migrate } from './core/db/migrate.ts';
import { ensurePartitions } from './core/db/partitions.ts';
import { createPool, waitForPrimary } from './core/db/pool.ts';
import { isDatabaseStarting, readOrCreate, StartupError } from './core/db/startup-error.ts';
import { openWorkerSession, type WorkerSession } from './core/db/worker-session.ts';
import { faultPoint } from './core/faults.ts';
import { createNodeServer, listenPlainly } from './core/http/server.ts';
import { type AppLog, createLog, type Log } from './core/log.ts';
import { findStorageFault, openStorage } from './core/open-storage.ts';
import { createOutbound, type Outbound } from './core/outbound-post.ts';
import { loadSecretKey, type SecretKey } from './core/secrets.ts';
import { createLinkSigner, type LinkSigner, type Storage } from './core/storage.ts';
import { systemClock } from './core/time.ts';
import { createDemoAccount, type NewAccount } from './operate/account-commands.ts';
import {
  assignSandboxNumbers,
  describeOpen,
  isSandboxWanted,
  retireSandbox,
  type Sandbox,
  startSandbox,
} from './sandbox/sandbox-store.ts';

/** Resources that all roles need. */
export type Base = {
  readonly config: Config;
  readonly log: AppLog;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly outbound: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  /** Registers the function that closes an opened resource; the name is shown to the operator. */
  readonly onStop: Closers['add'];
};

/**
 * Opens what all roles need: the database with its current schema, and the stores. Creates what is missing on a first
 * start.
 */
export async function openBase(
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
  await ensureCell(pool, config.cell);
  await ensurePartitions(pool, systemClock.now());
  const base = await openStores({ config, log, secretKey, connectionString, pool, onStop });
  if (config.storage.kind === 's3') void warnOfStorage(base.storage, log);
  return { base, embedded };
}

/** Opens what a process needs besides its database: the way to other servers, and the store of files. */
export async function openStores(opened: Omit<Base, 'outbound' | 'storage' | 'links'>): Promise<Base> {
  const outbound = await createOutbound(opened.config);
  opened.onStop('webhooks', outbound.poster.close);
  const storage = await openStorage(opened.config);
  opened.onStop('storage', storage.close);
  return { ...opened, outbound, storage, links: createLinkSigner(opened.secretKey) };
}

/**
 * Warns if files cannot be stored. Not awaited: messages are sent without files, and an unreachable store must not
 * delay the start.
 */
async function warnOfStorage(storage: Storage, log: AppLog): Promise<void> {
  const fault = await findStorageFault(storage);
  if (fault !== undefined)
    log.error({ fault }, 'files cannot be stored: uploads and exports will fail until this is corrected');
}

/** Opens the session of this process, which everything that is opened later may use until it is closed. */
export async function openSession({ connectionString, log, onStop }: Base): Promise<WorkerSession> {
  const session = await openWorkerSession({ connectionString, log });
  onStop('notifications', session.close);
  return session;
}

/**
 * Starts the sandbox carriers if they are enabled; otherwise removes everything that leads to them, and retires them
 * unless messages are open there, about which the operator has to decide.
 */
export async function openSandbox({ onStop, ...base }: Base, session: WorkerSession): Promise<Sandbox | null> {
  if (!(await isSandboxWanted(base.config, base.pool))) {
    const open = await retireSandbox(base.pool, systemAuthor(GATEWAY_ACCOUNT_ID));
    if (open.length > 0)
      base.log.warn(
        `messages are open on the sandbox, which does not run (${describeOpen(open)}): \`sandbox retire --end-messages\` ends them, \`sandbox restore\` and a restart run it`,
      );
    return null;
  }
  const sandbox = await startSandbox({ ...base, session });
  onStop('sandbox', sandbox.close);
  return sandbox;
}

/** Logs that the sandbox (simulated carriers and networks) is not running in this process. */
export async function warnSandboxNotRunning({ config, pool, log }: Base): Promise<null> {
  if (await isSandboxWanted(config, pool))
    log.warn(
      'no sandbox in this process: simulated carriers and social networks run only in the command serve; SANDBOX=off hides this',
    );
  return null;
}

/**
 * Creates the demo account on a first start, and gives it the numbers of the sandbox. Its credentials are saved before
 * they are shown, so a crash does not lose them.
 */
export async function createDemo({ config, pool }: Base, sandbox: Sandbox | null): Promise<NewAccount | undefined> {
  const demo = await createDemoAccount(pool);
  if (demo) await readOrCreate(join(config.dataDir, 'demo.json'), () => `${JSON.stringify(demo, null, 2)}\n`);
  if (demo && sandbox) await assignSandboxNumbers(pool, demo);
  return demo;
}

type OpenDatabase = {
  readonly connectionString: string;
  readonly embedded: boolean;
  /** Stops the embedded server. A server of the operator is not touched. */
  close(): Promise<void>;
};

/**
 * Opens the database of the program: the one of DATABASE_URL, or an embedded PostgreSQL in DATA_DIR. Throws a
 * StartupError if another program runs on the same DATA_DIR. The embedded server stops also when the process is halted.
 */
async function openDatabase(config: Config, log: Log, stopping: Stopping): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) {
    await waitForPrimary(config.databaseUrl);
    return { connectionString: config.databaseUrl, embedded: false, close: async () => undefined };
  }
  const { dataDir } = config;
  const server = await startEmbedded({ dataDir, log, signal: stopping.signal });
  const lock = await acquireServeLock(server.connectionString, `process ${process.pid}, ${config.publicUrl}`);
  if (!lock.held) {
    await server.release();
    throw new StartupError(
      `Heliograph already runs on ${dataDir} (${lock.holder}). Stop it first, or set another DATA_DIR.`,
    );
  }
  stopping.onHalt(server.halt);
  return {
    connectionString: server.connectionString,
    embedded: true,
    async close() {
      // Not awaited: an unresponsive server would delay the stop. The end of its session releases the lock, too.
      lock.release().catch(() => undefined);
      await server.stop();
    },
  };
}

/** Time limit for PostgreSQL to start, or to recover from a crash, while this program starts. */
const DATABASE_START_MS = 30_000;
const DATABASE_RETRY_MS = 500;
/** Time limit for resources that are being opened to notice that the start was aborted. */
const OPENING_MS = 3000;

type Open<T> = (closers: Closers) => Promise<T>;
type Stoppable = { readonly stop: () => Promise<void> };

/**
 * Opens a program with `open`, which registers the closer of each part. While its database is still starting, as after
 * a crash of the whole machine, the start is repeated from the beginning for up to 30 seconds. When `stopping.signal`
 * is aborted before the program runs, or a step fails, everything that was opened is closed in the reverse order, and
 * this rejects.
 */
export async function startWith<T>(stopping: Stopping, open: Open<T>): Promise<T & Stoppable> {
  const deadline = performance.now() + DATABASE_START_MS;
  for (;;) {
    try {
      return await startOnce(stopping, open);
    } catch (error) {
      if (!isDatabaseStarting(error) || performance.now() > deadline) throw error;
      await delay(DATABASE_RETRY_MS, undefined, { signal: stopping.signal });
    }
  }
}

async function startOnce<T>(stopping: Stopping, open: Open<T>): Promise<T & Stoppable> {
  const closers = createClosers();
  const opening = open(closers);
  try {
    return { ...(await unlessAborted(opening, stopping.signal)), stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    // Resources opened after the start was aborted are closed, too.
    await endsWithin(opening, OPENING_MS).catch(() => undefined);
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

/** Signals from outside that end a program. */
export type Stopping = {
  /** Aborted when the program should stop, even while it is still starting. */
  readonly signal: AbortSignal;
  /** Adds work that may still run for up to a second when the process ends immediately. */
  onHalt(halt: () => Promise<unknown>): void;
};

/** Signals of a program that ends only by its own `stop`, as in tests. */
export const NEVER_STOPPING: Stopping = { signal: new AbortController().signal, onHalt: () => undefined };

/** Under npm, Ctrl+C arrives twice: from the terminal and through npm. Within this time both count as one. */
const DUPLICATE_SIGNAL_MS = 1000;
const HALT_MS = 1000;

type SignalSource = { on(signal: NodeJS.Signals, listener: () => void): unknown; exit(code: number): unknown };

/**
 * Follows SIGTERM and SIGINT. The first one aborts `signal` and resolves `stopped`. Another one more than a second
 * later ends the process with exit code 1, as soon as the work given to `onHalt` has ended, or a second later.
 */
export function followStopSignals(
  own: SignalSource = process,
  now = () => performance.now(),
): Stopping & { readonly stopped: Promise<void> } {
  const stop = new AbortController();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const halts: (() => Promise<unknown>)[] = [];
  let firstAt: number | undefined;
  const receive = (): void => {
    firstAt ??= now();
    if (now() - firstAt > DUPLICATE_SIGNAL_MS) {
      const halted = Promise.allSettled(halts.map((halt) => halt()));
      void endsWithin(halted, HALT_MS).finally(() => own.exit(1));
    }
    stop.abort();
    resolve();
  };
  own.on('SIGTERM', receive);
  own.on('SIGINT', receive);
  return { signal: stop.signal, stopped, onHalt: (halt) => void halts.push(halt) };
}

/** Rejects when the signal is aborted, even if `work` has not ended by then. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Everything except the built-in PostgreSQL is closed, or abandoned, within this time. */
const CLOSE_MS = 9000;
/** Time reserved for the built-in PostgreSQL, however long the rest took. */
const DATABASE_MS = 5500;

type Step = { readonly name: string; readonly close: () => Promise<unknown>; readonly ownMs: number };

/** Open resources, to be closed in reverse order. */
export type Closers = {
  /** `name` is shown to the operator if it does not close. */
  add(name: string, close: () => Promise<unknown>): void;
  /** Adds the built-in PostgreSQL, which is stopped whatever happens before. */
  addDatabase(close: () => Promise<unknown>): void;
  /**
   * Closes everything within 15 seconds. One that fails, or does not end in time, does not keep the others open.
   * Rejects at the end with an error that names those. Called again, it closes what was added since.
   */
  closeAll(): Promise<void>;
};

/** Creates an empty list; `closeMs` is the time limit for closing everything except the database. */
export function createClosers(closeMs = CLOSE_MS): Closers {
  let steps: Step[] = [];
  return {
    add: (name, close) => void steps.push({ name, close, ownMs: 0 }),
    addDatabase: (close) => void steps.push({ name: 'database', close, ownMs: DATABASE_MS }),
    async closeAll() {
      const all = steps.toReversed();
      steps = [];
      const deadline = performance.now() + closeMs;
      const faults: string[] = [];
      for (const { name, close, ownMs } of all) {
        const restMs = Math.max(0, deadline - performance.now());
        const ended = endsWithin(close(), restMs + ownMs);
        const fault = await ended.then((inTime) => (inTime ? null : 'did not end in time'), String);
        if (fault !== null) faults.push(`${name}: ${fault}`);
      }
      if (faults.length > 0) throw new Error(`The program did not stop cleanly (${faults.join('; ')}).`);
    },
  };
}

/** Time for which a process may outlive its last step. */
const LINGER_MS = 1000;

/** Ends the process in a second with its exit code, if abandoned work still keeps it alive. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

const STOP_HTTP_MS = 3000;
/** The cells as the directory asks them. */
export const CELLS = faultPoint<Cells>();

/** `directory`, which runs until it is stopped. */
export function registerDirectoryCommand(program: Command, context: CommandContext): void {
  program
    .command('directory')
    .description('route requests to cells for the proxy in front of them; needs DIRECTORY_URL and CELL_DATABASES')
    .action(async () => {
      const stopping = followStopSignals();
      const config = context.config();
      try {
        const { address, stop } = await startDirectory(config, stopping);
        context.report({ address }, () => `The directory of the cells is running: ${address}/cell   (Ctrl+C stops it)`);
        await stopping.stopped;
        await stop();
      } catch (error) {
        // Stopped during the start: that is not an error.
        if (error !== stopping.signal.reason) throw error;
      } finally {
        exitSoon();
      }
    });
}

/** Starts the directory of the cells, as `startWith` does; `address` is the origin at which the proxy queries it. */
export const startDirectory = (
  config: Config,
  stopping: Stopping = NEVER_STOPPING,
): Promise<{ readonly address: string; stop(): Promise<void> }> =>
  startWith(stopping, (closers) => open(config, closers));

async function open(config: Config, { add: onStop }: Closers): Promise<{ readonly address: string }> {
  const { directoryUrl, databases } = config.cells;
  if (directoryUrl === undefined)
    throw new StartupError('DIRECTORY_URL must be set: the directory records moved accounts in a separate database.');
  if (databases.size === 0)
    throw new StartupError('CELL_DATABASES must be set: the directory asks the cells for their accounts.');
  const log = createLog(config.logLevel, pino.destination(2));
  const pool = await openDirectory(directoryUrl, log);
  onStop('pool', () => pool.end());
  const placements = await followPlacements(pool, log);
  onStop('moved accounts', placements.close);
  const cells = CELLS.pass(createCells(databases, log));
  onStop('cells', cells.close);
  const directory = createDirectory(cells, placements);
  const server = createNodeServer(config, createDirectoryListener({ directory, silent: cells.silent, log }));
  const address = await listenPlainly(server, config);
  onStop('server', () => close(server));
  return { address };
}

/** Gives pending requests a moment to get a response, then closes. */
async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  if (!(await endsWithin(closed, STOP_HTTP_MS))) server.closeAllConnections();
}
