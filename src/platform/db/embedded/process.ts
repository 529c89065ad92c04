import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { askToStop } from './ask-to-stop.ts';
import { serverArguments } from './settings.ts';
import { removeDeadSockets, socketFolder } from './socket.ts';
import type { ServerUser } from './user.ts';
import { readIfExists } from '../private-file.ts';
import { StartupError } from '../startup-error.ts';
import { operatingSystem } from '../../lib/operating-system.ts';

const run = promisify(execFile);

/** A cluster and the options of its server. */
export type Site = {
  /** A real path, without symbolic links. */
  readonly clusterDir: string;
  readonly logFile: string;
  /** The path of the server program. */
  readonly postgres: string;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
  /** Time limit of a start; ten minutes if absent. */
  readonly startTimeoutMs?: number;
};

export type RunningServer = {
  readonly pid: number;
  readonly port: number;
  /** The folder of its Unix socket; null if it has none. */
  readonly socketDir: string | null;
};

const POLL_MS = 20;
/** Crash recovery replays up to max_wal_size, which takes minutes on a slow disk. */
const START_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 5_000;
/** Time for which a start is retried while its failure is temporary. */
const RETRY_MS = 10_000;
/** Failure of a port taken between choice and use, or of processes of a killed server that have not ended yet. */
const TRANSIENT_FAILURE =
  /Address already in use|pre-existing shared memory block|lock file "postmaster.pid" already exists/;
/** Error of network and shared folders that support no sockets. */
const NO_SOCKETS = /could not create any Unix-domain sockets/;
const MAX_LOG_BYTES = 10_000_000;

const FAILURES: readonly { readonly pattern: RegExp; readonly sentence: string }[] = [
  {
    pattern: /No space left on device|Disk quota exceeded/,
    sentence: 'The disk of CLUSTER is full: free some space, then start again.',
  },
  {
    pattern: /Permission denied|not permitted/,
    sentence: 'PostgreSQL may not use CLUSTER: restore the owner of the folder, or set DATA_DIR to another folder.',
  },
  {
    pattern: /Cannot allocate memory|could not map anonymous shared memory/,
    sentence:
      'PostgreSQL did not get the memory it needs (300 MB): free some memory, or set DATABASE_URL to a server elsewhere.',
  },
  {
    pattern: /database files are incompatible/,
    sentence:
      'CLUSTER was created by another version of PostgreSQL: start the release of this program that created it.',
  },
  {
    pattern: /ENOENT|error while loading shared libraries/,
    sentence:
      'The built-in PostgreSQL cannot run here: run "npm ci" again, or set DATABASE_URL to your own PostgreSQL.',
  },
];

/**
 * Finds the server that runs on this cluster, whichever process started it; `ready` is true if it accepts connections
 * already. A pid file whose process is gone, or is another program by now, is ignored.
 */
export async function findServer(clusterDir: string): Promise<(RunningServer & { ready: boolean }) | undefined> {
  // Lines of postmaster.pid: pid, data directory, start time, port, socket folder, address, shared memory key, status.
  const lines = (await readIfExists(join(clusterDir, 'postmaster.pid')))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !(await runsOn(clusterDir, pid))) return undefined;
  return { pid, port: Number(lines[3]), socketDir: lines[4] || null, ready: lines[7]?.trim() === 'ready' };
}

const runsOn = async (clusterDir: string, pid: number): Promise<boolean> =>
  (await commandLine(pid)).includes(clusterDir);

async function commandLine(pid: number): Promise<string> {
  const [command, ...args] = operatingSystem().commandLine?.(pid) ?? [];
  const line =
    command === undefined ? readFile(`/proc/${pid}/cmdline`, 'utf8') : run(command, args).then(({ stdout }) => stdout);
  return line.catch(() => '');
}

/**
 * Makes sure that a server runs on the cluster and resolves when it is ready: the one that runs already (`attached`),
 * or a new one, which outlives this process. Without `port` a free one is chosen. Throws a StartupError with the reason
 * if it does not start. When `signal` is aborted, a server that is being started here is stopped, and this rejects.
 */
export async function ensureRunning(
  site: Site,
  port?: number,
  signal?: AbortSignal,
): Promise<RunningServer & { attached: boolean }> {
  const startedAt = Date.now();
  let child: Awaited<ReturnType<typeof spawnServer>> | undefined;
  let socketDir = socketFolder(site.clusterDir);
  const timeoutMs = site.startTimeoutMs ?? START_TIMEOUT_MS;
  while (Date.now() < startedAt + timeoutMs) {
    const server = await findServer(site.clusterDir);
    if (server?.ready) return { ...server, attached: server.pid !== child?.pid };
    await breakOffIf(signal, child);
    if (server === undefined && child?.running() !== true) {
      const output = child?.output() ?? '';
      if (NO_SOCKETS.test(output)) socketDir = null;
      else if (child !== undefined && !mayGoAway(output, startedAt)) throw startFailure(output, site);
      child = await spawnServer(site, port ?? (await freePort()), socketDir);
    }
    await delay(POLL_MS);
  }
  throw new StartupError(`PostgreSQL was not ready after ${timeoutMs / 60_000} minutes: see ${site.logFile}.`);
}

const mayGoAway = (failure: string, startedAt: number): boolean =>
  TRANSIENT_FAILURE.test(failure) && Date.now() < startedAt + RETRY_MS;

async function breakOffIf(
  signal: AbortSignal | undefined,
  child: Awaited<ReturnType<typeof spawnServer>> | undefined,
): Promise<void> {
  if (signal?.aborted !== true) return;
  await child?.stop();
  throw signal.reason;
}

async function spawnServer(site: Site, port: number, socketDir: string | null) {
  await removeForeignPidFile(site.clusterDir);
  await removeDeadSockets(site.clusterDir, (pid) => runsOn(site.clusterDir, pid));
  await limitLog(site.logFile);
  const logStart = await stat(site.logFile).then(
    ({ size }) => size,
    () => 0,
  );
  const log = openSync(site.logFile, 'a', 0o600);
  const child = spawn(
    site.postgres,
    serverArguments({ dir: site.clusterDir, port, socketDir, durable: site.durable }),
    {
      ...site.user,
      cwd: operatingSystem().root,
      env: operatingSystem().environment,
      stdio: ['ignore', log, log],
      detached: true,
    },
  );
  closeSync(log);
  let spawnError = '';
  child.on('error', (error) => {
    spawnError = error.message;
  });
  child.unref();
  const running = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    pid: child.pid,
    running,
    async stop(): Promise<void> {
      if (child.pid !== undefined) await askToStop({ clusterDir: site.clusterDir, pid: child.pid });
      const deadline = Date.now() + STOP_TIMEOUT_MS;
      while (Date.now() < deadline && running()) await delay(POLL_MS);
    },
    output: () => spawnError || readFileSync(site.logFile).subarray(logStart).toString(),
  };
}

/**
 * Removes a pid file whose pid belongs to another program. PostgreSQL cleans up after a dead process, but does not
 * start if the pid in its file is in use by any process: after a reboot, or in a new container, pids are reused.
 */
async function removeForeignPidFile(clusterDir: string): Promise<void> {
  const path = join(clusterDir, 'postmaster.pid');
  const pid = Number.parseInt((await readIfExists(path)) ?? '', 10);
  if (Number.isNaN(pid) || !isAlive(pid) || (await findServer(clusterDir)) !== undefined) return;
  await rm(path, { force: true });
}

/** Returns true if a process with this pid is running. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function limitLog(path: string): Promise<void> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Turns the output of a failed PostgreSQL start into an error whose message includes the correction. */
export function startFailure(
  output: string,
  { clusterDir, logFile }: Pick<Site, 'clusterDir' | 'logFile'>,
): StartupError {
  const known = FAILURES.find(({ pattern }) => pattern.test(output));
  const lines = output.trim().split('\n');
  const reason = lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1);
  const sentence = known?.sentence ?? `PostgreSQL did not start: "${reason}". Its log is ${logFile}.`;
  return new StartupError(sentence.replace('CLUSTER', clusterDir), { cause: output });
}

/**
 * Shuts the server down cleanly, disconnecting its clients, and resolves within 5 seconds. A server that needs longer
 * for its final checkpoint finishes on its own, and the next start waits for it.
 */
export async function stopServer(clusterDir: string): Promise<void> {
  const pid = await haltServer(clusterDir);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (pid !== undefined && Date.now() < deadline && (await findServer(clusterDir))?.pid === pid)
    await delay(POLL_MS);
}

/** Shuts the server down cleanly and resolves when it has ended, however long its final checkpoint takes. */
export async function stopAndWait(clusterDir: string): Promise<void> {
  await haltServer(clusterDir);
  while ((await findServer(clusterDir)) !== undefined) await delay(POLL_MS);
}

/** Makes the server shut down cleanly, without waiting for it; resolves with its pid, if there is one. */
export async function haltServer(clusterDir: string): Promise<number | undefined> {
  const server = await findServer(clusterDir);
  if (server !== undefined) await askToStop({ clusterDir, pid: server.pid });
  return server?.pid;
}
