import { execFile } from 'node:child_process';
import { appendFile, chown, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbedded } from '../../src/core/db/embedded.ts';
import { ensureRunning, findServer, type Site, stopServer } from '../../src/core/db/embedded-process.ts';
import { findBinaries, findServerUser } from '../../src/core/db/embedded-settings.ts';
import { silentLog } from '../../src/core/log.ts';
import { removeDataDir } from './data-dir.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** One server of a primary with standbys. */
export type ReplicatedServer = {
  /** Its name for `synchronous_standby_names`. */
  readonly name: string;
  readonly url: string;
  start(): Promise<void>;
  /** Ends it as a power cut would, without a shutdown. */
  kill(): Promise<void>;
  /** Makes a standby the primary; resolves when it accepts writes. */
  promote(): Promise<void>;
  /** Makes a standby follow another server from now on, or the stopped server be its standby at its next start. */
  follow(primary: ReplicatedServer): Promise<void>;
  /** Replaces the data of the stopped server by a copy of another one that runs, and starts it as its standby. */
  rebuild(from: ReplicatedServer): Promise<void>;
  /**
   * Keeps a standby from taking in anything more, as a broken network would. The function that it resolves with drops what
   * is on its way, and restarts the standby.
   */
  freeze(): Promise<() => void>;
  /** Returns the bytes of WAL that a standby has received. */
  received(): Promise<number>;
  ask<R extends pg.QueryResultRow>(statement: string): Promise<R[]>;
  /** Copies its data while it runs. */
  copyTo(folder: string): Promise<void>;
  /** The folder with its data. */
  readonly dir: string;
};

export type Replicated = {
  /** The first one is the primary. */
  readonly servers: readonly ReplicatedServer[];
  /** The URL with all hosts. */
  readonly url: string;
  stop(): Promise<void>;
};

/**
 * Starts a real primary with standbys from the embedded binaries: a cluster, copies of its folder, streaming replication.
 * Resolves when all standbys follow the primary.
 *
 * @param options.synchronous whether a commit waits for any one of the standbys
 */
export async function startReplicated(options: { standbys: number; synchronous?: boolean }): Promise<Replicated> {
  const folder = await temporaryFolder('heliograph-replicated-');
  const names = ['s0', ...Array.from({ length: options.standbys }, (_, i) => `s${i + 1}`)];
  const [first = '', ...others] = names.map((name) => join(folder, name));
  const { connectionString, stop } = await startEmbedded({ dataDir: first, log: silentLog });
  await stop();
  for (const copy of others) await run('cp', ['-a', '--dereference', first, copy]);
  const servers = await Promise.all(names.map((name) => replicatedServer(folder, name, connectionString)));
  const [primary, ...standbys] = servers;
  if (primary === undefined) throw new Error('no server');
  for (const { dir } of servers)
    await appendFile(
      join(dir, 'postgresql.auto.conf'),
      `\nwal_keep_size = 1GB\nwal_retrieve_retry_interval = '250ms'\n${options.synchronous === true ? `synchronous_standby_names = 'ANY 1 (${names.join(', ')})'\n` : ''}`,
    );
  for (const standby of standbys) await standby.follow(primary);
  await Promise.all(servers.map((server) => server.start()));
  // A standby that starts before its primary responds tries again later.
  await until('all standbys to follow the primary', async () => {
    const [row] = await primary.ask<{ n: number }>(
      "SELECT count(*)::int AS n FROM pg_stat_replication WHERE state = 'streaming'",
    );
    return row?.n === standbys.length;
  });
  const urls = servers.map(({ url }) => new URL(url));
  const url = new URL(primary.url);
  return {
    servers,
    url: primary.url.replace(url.host, urls.map(({ host }) => host).join(',')),
    async stop() {
      await Promise.all(servers.map(({ dir }) => stopServer(dir)));
      for (const name of names) await removeDataDir(join(folder, name));
      await rm(folder, { recursive: true });
    },
  };
}

async function replicatedServer(folder: string, name: string, connectionString: string): Promise<ReplicatedServer> {
  const dir = await realpath(join(folder, name, 'postgres'));
  const user = await findServerUser(dir);
  const { postgres } = await findBinaries(user);
  const site: Site = { clusterDir: dir, logFile: join(folder, `${name}.log`), postgres, user, durable: true };
  const url = new URL(connectionString);
  // Not the socket of the first server.
  url.search = '';
  url.port = String(await freePort());

  async function session<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url.href });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
  const ask = <R extends pg.QueryResultRow>(statement: string): Promise<R[]> =>
    session(async (client) => (await client.query<R>(statement)).rows);
  const start = (): Promise<void> => ensureRunning(site, Number(url.port)).then(() => undefined);
  const giveToServer = async (file: string): Promise<void> => {
    if (user !== undefined) await chown(file, user.uid, user.gid);
  };

  async function follow(primary: ReplicatedServer): Promise<void> {
    const { hostname, port, username, password } = new URL(primary.url);
    const conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=${name}`;
    await appendFile(join(dir, 'postgresql.auto.conf'), `\nprimary_conninfo = '${conninfo}'\n`);
    if ((await findServer(dir)) !== undefined) return void (await ask('SELECT pg_reload_conf()'));
    await writeFile(join(dir, 'standby.signal'), '');
    await giveToServer(join(dir, 'standby.signal'));
  }

  return {
    name,
    url: url.href,
    dir,
    start,
    ask,
    async kill() {
      const server = await findServer(dir);
      if (server === undefined) return;
      process.kill(server.pid, 'SIGKILL');
      await until(`the end of ${name}`, async () => (await findServer(dir)) === undefined);
    },
    promote: () => ask('SELECT pg_promote(true)').then(() => undefined),
    follow,
    async rebuild(from) {
      await rm(dir, { recursive: true });
      await from.copyTo(dir);
      await follow(from);
      await start();
    },
    async freeze() {
      const [receiver] = await ask<{ pid: number }>('SELECT pid FROM pg_stat_wal_receiver');
      if (receiver === undefined) return () => undefined;
      process.kill(receiver.pid, 'SIGSTOP');
      return () => void process.kill(receiver.pid, 'SIGKILL');
    },
    async received() {
      // After a restart only what was replayed counts, until the standby has a primary again.
      const [row] = await ask<{ bytes: string }>(
        "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0' AS bytes",
      );
      return Number(row?.bytes ?? 0);
    },
    /** A base backup as the manual describes it, in one session. */
    copyTo: (target) =>
      session(async (client) => {
        await client.query("SELECT pg_backup_start('copy', true)");
        // Temporary files may vanish meanwhile; a copy that lacks more does not recover.
        await run('sh', ['-c', 'cp -a "$0" "$1" 2>/dev/null || test -f "$1/PG_VERSION"', dir, target]);
        const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
        await writeFile(join(target, 'backup_label'), rows[0]?.labelfile ?? '');
        await rm(join(target, 'postmaster.pid'), { force: true });
        await giveToServer(join(target, 'backup_label'));
      }),
  };
}
