import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findServerUser } from '../../src/core/db/embedded-settings.ts';
import { freePort } from './free-port.ts';
import { isInstalled } from './installed.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Returns why PgBouncer cannot take part, or undefined if it can. */
export const pgbouncerIsMissing = (): string | undefined =>
  isInstalled('pgbouncer') ? undefined : "PgBouncer is not installed: the Debian package is 'pgbouncer'";

export type PoolMode = 'session' | 'transaction';

/** A PgBouncer in front of a PostgreSQL. */
export type Pgbouncer = AsyncDisposable & {
  /** Returns the URL of a database of that server through the pooler. */
  through(databaseUrl: string): string;
  /** Restarts it in another mode, as an operator may. */
  restart(mode: PoolMode): Promise<void>;
};

/** Starts Debian's PgBouncer with its defaults, but for the number of sessions, in front of the server of a URL. */
export async function startPgbouncer(serverUrl: string, mode: PoolMode): Promise<Pgbouncer> {
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const folder = await temporaryFolder('heliograph-pgbouncer-');
  const file = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users.txt');
  const port = await freePort();
  // It refuses to run as root, as PostgreSQL does.
  const user = await findServerUser(folder);
  const configurationOf = (poolMode: PoolMode): string => `
[databases]
* = host=${hostname} port=${serverPort}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${poolMode}
default_pool_size = 40
`;

  let child: ChildProcess;
  async function start(poolMode: PoolMode): Promise<void> {
    await writeFile(file, configurationOf(poolMode));
    const started = spawn('pgbouncer', [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    for await (const line of started.stderr)
      if (String(line).includes('process up')) return void started.stderr.resume();
    throw new Error('PgBouncer did not start');
  }
  async function stop(): Promise<void> {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  if (user) await chown(users, user.uid, user.gid);
  await start(mode);
  return {
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${port}`;
      url.search = '';
      return url.href;
    },
    async restart(poolMode) {
      await stop();
      await start(poolMode);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
