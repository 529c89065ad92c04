import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../log.ts';
import {
  clusterPath,
  ensureRunning,
  findServer,
  haltServer,
  openCluster,
  type Site,
  stopServer,
} from './embedded-process.ts';
import { findBinaries, findServerUser, overSocket, SUPERUSER } from './embedded-settings.ts';
import { clientConfig } from './pool.ts';
import { createDataDir, explainDatabaseError, hasCode, StartupError } from './startup-error.ts';

type EmbeddedOptions = {
  readonly dataDir: string;
  readonly log: Log;
  /** False (only in tests) means that a power cut may lose data. */
  readonly durable?: boolean;
  /**
   * The module whose packages have the PostgreSQL programs (only in tests, for other versions); this one by default.
   */
  readonly binariesFrom?: string | undefined;
  /** Aborts the start: it rejects, and everything that it has started ends. */
  readonly signal?: AbortSignal;
};

export type EmbeddedServer = {
  readonly connectionString: string;
  /** True if the server was running already, left by a killed process or used by another one. */
  readonly attached: boolean;
  /** Stops the server. Resolves within 5 seconds. */
  stop(): Promise<void>;
  /** Makes the server stop without waiting for it: for a process that has to end immediately. */
  halt(): Promise<unknown>;
  /** Stops watching the server and leaves it running. */
  release(): Promise<void>;
};

const WATCH_MS = 500;
const CONNECT_TIMEOUT_MS = 10_000;
const RETRY_MS = 50;
const DISCONNECT_GRACE_MS = 500;

/**
 * Makes sure that PostgreSQL runs on DATA_DIR/postgres, on a free port of 127.0.0.1 and on a Unix socket in that
 * folder, which the connection string names where the system and the path allow one (socket.ts). The server is a
 * separate process: it survives if this process is killed, and the next start finds it. If the server itself is killed,
 * it is restarted on the same port while this process runs, or recovers at the next start.
 *
 * Throws a StartupError with the correction (disk full, folder not writable, other version, out of memory).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  try {
    const { site, password } = await openSite(options);
    const { connectionString, ...server } = await connectToServer(site, password, options.signal);
    const watch = watchServer(site, server.port, options.log);
    const release = (): Promise<void> => watch.end();
    return {
      connectionString,
      attached: server.attached,
      release,
      stop: () => release().then(() => stopServer(site.clusterDir)),
      halt: () => haltServer(site.clusterDir),
    };
  } catch (error) {
    throw explainDatabaseError(error);
  }
}

/**
 * Connects an operator command to the server of DATA_DIR, which the program may be using. If none runs, one is started,
 * and `release` stops it unless another client has connected in the meantime.
 */
export async function attachEmbedded(
  options: EmbeddedOptions,
): Promise<{ connectionString: string; release(): Promise<void> }> {
  const server = await startEmbedded(options);
  const release = async (): Promise<void> => {
    const keep = server.attached || (await staysInUse(server.connectionString));
    await (keep ? server.release() : server.stop());
  };
  return { connectionString: server.connectionString, release };
}

async function openSite(options: EmbeddedOptions): Promise<{ site: Site; password: string }> {
  const { log, durable = true, signal } = options;
  const dataDir = resolve(options.dataDir);
  await createDataDir(dataDir);
  const user = await findServerUser(clusterPath(dataDir));
  const binaries = await findBinaries(user, options.binariesFrom);
  const { clusterDir, password } = await openCluster({ dataDir, binaries, user, durable, log, signal });
  const logFile = join(dataDir, 'postgres.log');
  const site = { clusterDir, logFile, postgres: binaries.postgres, user, durable };
  return { site, password };
}

/** Retries, since a dying server briefly counts as running. */
async function connectToServer(site: Site, password: string, signal: AbortSignal | undefined) {
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  let attached = true;
  for (;;) {
    const server = await ensureRunning(site, undefined, signal);
    // A server that was started here runs already when the first connection fails and this comes round again.
    attached &&= server.attached;
    const overTcp = `postgres://${SUPERUSER}:${password}@127.0.0.1:${server.port}/postgres`;
    const connectionString = server.socketDir === null ? overTcp : overSocket(overTcp, server.socketDir);
    try {
      await verify(site, connectionString);
      return { ...server, attached, connectionString };
    } catch (error) {
      if (error instanceof StartupError || Date.now() > deadline) throw error;
    }
    await delay(RETRY_MS);
  }
}

/** Connects once, to check the password and that the port does not by chance belong to another server. */
async function verify({ clusterDir }: Site, connectionString: string): Promise<void> {
  const rows = await query<{ data_directory: string }>(connectionString, 'SHOW data_directory').catch(
    (error: unknown) => {
      if (!hasCode(error, '28P01')) throw error;
      throw new StartupError(
        `The password in DATA_DIR/postgres.password does not match ${clusterDir}: restore the file.`,
      );
    },
  );
  if (rows[0]?.data_directory === clusterDir) return;
  throw new StartupError(`Another PostgreSQL took the port of ${clusterDir}: start again.`);
}

/**
 * Returns true if others use the server. The caller's own closed connections count until their server processes have
 * ended.
 */
async function staysInUse(connectionString: string): Promise<boolean> {
  const deadline = Date.now() + DISCONNECT_GRACE_MS;
  while ((await countOtherClients(connectionString)) > 0) {
    if (Date.now() > deadline) return true;
    await delay(RETRY_MS);
  }
  return false;
}

async function countOtherClients(connectionString: string): Promise<number> {
  const rows = await query<{ others: number }>(
    connectionString,
    "SELECT count(*)::int AS others FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  return rows[0]?.others ?? 0;
}

async function query<R extends pg.QueryResultRow>(connectionString: string, text: string): Promise<R[]> {
  const client = new pg.Client(clientConfig(connectionString, { connectionTimeoutMillis: 10_000 }));
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Restarts the server when it is gone, until `end`, which aborts a restart in progress. */
function watchServer(site: Site, port: number, log: Log): { end(): Promise<void> } {
  const ending = new AbortController();
  let check = Promise.resolve();
  let busy = false;
  const restart = async (): Promise<void> => {
    if ((await findServer(site.clusterDir)) !== undefined) return;
    log.error({ log: site.logFile }, 'the database server is gone; restarting it');
    await ensureRunning(site, port, ending.signal);
  };
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    check = restart()
      .catch((error: unknown) => {
        if (!ending.signal.aborted) log.error({ err: error }, 'the database server could not be restarted');
      })
      .finally(() => {
        busy = false;
      });
  }, WATCH_MS).unref();
  return {
    end: () => {
      clearInterval(timer);
      ending.abort();
      return check;
    },
  };
}

/** The advisory lock; it must be the same in every release. */
const LOCK_KEY = 4_202_512;

/** The result of trying to take the lock. */
type ServeLock =
  | { readonly held: true; release(): Promise<void> }
  /** `holder` describes the process that has the lock, in its own words. */
  | { readonly held: false; readonly holder: string };

/**
 * Tries to make this process the only `serve` on the database, so that a second start can report that one is running.
 * It only guards against mistakes, and nothing depends on it: any number of processes may work on one database.
 *
 * It is a session lock: a killed process cannot leave it behind, and a restart of PostgreSQL ends it. `holder` is shown
 * to the process that does not get the lock, for example 'process 4711, http://127.0.0.1:8080' (at most 63 bytes).
 */
export async function acquireServeLock(connectionString: string, holder: string): Promise<ServeLock> {
  const client = new pg.Client(clientConfig(connectionString, { application_name: holder, keepAlive: true }));
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ held: boolean }>(`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS held`);
  if (rows[0]?.held) return { held: true, release: () => client.end() };
  const other = await findHolder(client);
  await client.end();
  return { held: false, holder: other };
}

async function findHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT application_name AS holder
       FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = ${LOCK_KEY}
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.holder || 'another process';
}
