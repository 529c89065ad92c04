import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Log } from '../log.ts';
import { operatingSystem } from '../machine.ts';
import {
  type Binaries,
  initdbArguments,
  mayEnter,
  removeDeadSockets,
  type ServerUser,
  SYSTEM_DIR,
  serverArguments,
  socketFolder,
} from './embedded-settings.ts';
import { ignoreCode, readIfExists, readOrCreate, StartupError } from './startup-error.ts';

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

type RunningServer = {
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
    // initdb asks the system for the name of its user; a server that runs already does not.
    pattern: /could not look up effective user ID/,
    sentence:
      'The built-in PostgreSQL needs a name for the user of this process: start with a user ID that has an entry in ' +
      '/etc/passwd the first time, or set DATABASE_URL to a PostgreSQL of your own.',
  },
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

/**
 * Asks a server to shut down in good order, disconnecting its clients, and does not wait for it. Without signals, it
 * runs pg_ctl, which is next to the server program; if that fails, the server is killed, and the next start recovers.
 */
export async function askToStop(
  { clusterDir, pid }: { readonly clusterDir: string; readonly pid: number },
  { stopBy, programSuffix, environment } = operatingSystem(),
): Promise<void> {
  if (stopBy === 'signal') {
    process.kill(pid, 'SIGINT');
    return;
  }
  await stopByPgCtl(clusterDir, `pg_ctl${programSuffix}`, environment).catch(() => process.kill(pid));
}

async function stopByPgCtl(clusterDir: string, name: string, env: Readonly<Record<string, string>>): Promise<void> {
  // The command line that started the server, with quotes around its arguments only.
  const [program = ''] = (await readFile(join(clusterDir, 'postmaster.opts'), 'utf8')).split(' "', 1);
  // It does not work for root.
  const { uid, gid } = await stat(clusterDir);
  const user = process.getuid?.() === 0 ? { uid, gid } : {};
  await run(join(dirname(program), name), ['stop', '-D', clusterDir, '-m', 'fast', '-W'], { ...user, env });
}

type ClusterOptions = {
  readonly dataDir: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
  readonly log: Log;
  /** Aborts the creation of a cluster. */
  readonly signal?: AbortSignal | undefined;
};

/** Returns the path of the cluster: a folder, or a symbolic link to one in /var/lib/heliograph. */
export const clusterPath = (dataDir: string): string => join(dataDir, 'postgres');
/** The file in a cluster outside its DATA_DIR that contains the path of that DATA_DIR. */
export const OWNER_FILE = 'DATA_DIR';
/** The file in DATA_DIR with the password of the superuser. */
export const passwordPath = (dataDir: string): string => join(dataDir, 'postgres.password');

/**
 * Returns the cluster of `dataDir`, created if there is none, and the password of its superuser. Of several concurrent
 * processes only one creates it; an interrupted creation leaves nothing that the next one would mistake for a cluster.
 * Throws a StartupError if the cluster belongs to another major version or if the server's user cannot reach it.
 */
export async function openCluster(options: ClusterOptions): Promise<{ clusterDir: string; password: string }> {
  const path = clusterPath(options.dataDir);
  if ((await realDir(path)) === undefined) await createCluster(options);
  const clusterDir = (await realDir(path)) ?? path;
  await checkVersion(clusterDir, options.binaries.major);
  if (options.user !== undefined && !(await mayEnter(dirname(clusterDir), options.user))) {
    throw new StartupError(
      `User id ${options.user.uid}, which runs PostgreSQL, may not enter ${dirname(clusterDir)}: allow it with chmod o+x on the folder and its parents.`,
    );
  }
  const password = await readIfExists(passwordPath(options.dataDir));
  if (password !== undefined) return { clusterDir, password };
  throw new StartupError(`${passwordPath(options.dataDir)}, the password of ${clusterDir}, is missing: restore it.`);
}

/** Returns true if DATA_DIR contains a cluster, of any version and in any condition. */
export const hasCluster = async (dataDir: string): Promise<boolean> =>
  (await realDir(clusterPath(dataDir))) !== undefined;

const realDir = (path: string): Promise<string | undefined> => realpath(path).catch(ignoreCode('ENOENT'));

async function checkVersion(clusterDir: string, major: string): Promise<void> {
  const found = (await readIfExists(join(clusterDir, 'PG_VERSION')))?.trim();
  if (found === major) return;
  throw new StartupError(
    found === undefined
      ? `${clusterDir} contains no PostgreSQL data: move the folder away, or set DATA_DIR to another one.`
      : `The data in ${clusterDir} is from PostgreSQL ${found}, and this program has PostgreSQL ${major}: start the release that created it, or set DATA_DIR to another folder.`,
  );
}

async function createCluster(options: ClusterOptions): Promise<void> {
  const { dataDir, log } = options;
  const password = await readOrCreate(passwordPath(dataDir), () => randomBytes(24).toString('base64url'));
  log.info({ dir: clusterPath(dataDir) }, 'creating the database');
  await installCluster(options, (dir) => initialise(dir, password, options));
}

/**
 * Runs `fill` on a new folder and, once complete, moves it atomically to the place of the cluster of `dataDir`: in
 * DATA_DIR, or outside it if the server's user may not enter it. Returns false if another process was faster: its
 * cluster stays.
 */
export async function installCluster(
  options: Pick<ClusterOptions, 'dataDir' | 'user' | 'log'>,
  fill: (dir: string) => Promise<void>,
): Promise<boolean> {
  const { dataDir, user, log } = options;
  const path = clusterPath(dataDir);
  if (user === undefined || (await mayEnter(await realpath(dataDir), user))) {
    await removeDrafts(dataDir);
    const draft = join(await realpath(dataDir), `postgres.new-${process.pid}`);
    await fillOrRemove(draft, fill);
    // Fails if another process was faster: a rename does not replace a folder that is not empty.
    return orRemove(draft, rename(draft, path));
  }
  const target = await systemDirFor(dataDir, log);
  await fillOrRemove(target, fill);
  // Readable by all who may enter the cluster: the server's user copies it in backups.
  await writeFile(join(target, OWNER_FILE), await realpath(dataDir), { mode: 0o644 });
  return orRemove(target, symlink(target, path));
}

async function fillOrRemove(dir: string, fill: (dir: string) => Promise<void>): Promise<void> {
  try {
    await fill(dir);
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

const orRemove = (dir: string, installed: Promise<void>): Promise<boolean> =>
  installed.then(
    () => true,
    () => rm(dir, { recursive: true }).then(() => false),
  );

/** Removes the remains of interrupted starts; drafts of processes that are still running stay. */
async function removeDrafts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const pid = Number(/^postgres\.new-(\d+)/.exec(name)?.[1]);
    if (Number.isNaN(pid) || (pid !== process.pid && isAlive(pid))) continue;
    // Its initdb may still run for a moment.
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * Returns a new place outside `dataDir`, for a server user who may not enter it: we must not change the permissions of
 * folders such as /root. Clusters of an earlier folder of the same name are stopped, and their data stays.
 */
async function systemDirFor(dataDir: string, log: Log): Promise<string> {
  const hash = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex')
    .slice(0, 16);
  await mkdir(SYSTEM_DIR, { recursive: true, mode: 0o755 });
  for (const name of await readdir(SYSTEM_DIR)) {
    const earlier = join(SYSTEM_DIR, name);
    if (!name.startsWith(`${hash}-`) || (await findServer(earlier)) === undefined) continue;
    log.warn({ dir: earlier }, 'stopping the database of an earlier DATA_DIR with this name; its data stays there');
    await stopServer(earlier);
  }
  const target = join(SYSTEM_DIR, `${hash}-${Date.now().toString(36)}`);
  log.warn({ dir: target }, 'the database is stored here, since the user that runs it may not enter DATA_DIR');
  return target;
}

async function initialise(dir: string, password: string, options: ClusterOptions): Promise<void> {
  const { binaries, user, durable, signal } = options;
  const passwordFile = `${dir}.password`;
  try {
    await mkdir(dir, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (user !== undefined) await Promise.all([dir, passwordFile].map((path) => chown(path, user.uid, user.gid)));
    await run(binaries.initdb, initdbArguments({ dir, passwordFile, durable, major: binaries.major }), {
      ...user,
      cwd: operatingSystem().root,
      env: operatingSystem().environment,
      signal,
    });
  } catch (error) {
    throw isProcessFailure(error)
      ? startFailure(error.stderr || error.message, { clusterDir: dirname(dir), logFile: basename(dir) })
      : error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

const isProcessFailure = (error: unknown): error is Error & { stderr: string } =>
  error instanceof Error && 'stderr' in error && typeof error.stderr === 'string';
