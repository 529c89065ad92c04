import { operatingSystem } from '../../lib/operating-system.ts';

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

/** Returns the arguments of initdb. */
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
    ...(options.durable ? [] : ['--no-sync']),
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
