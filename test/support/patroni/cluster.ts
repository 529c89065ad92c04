import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { chmod, chown, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { findServer, stopServer } from '../../../src/core/db/embedded-process.ts';
import { findBinaries, findServerUser, type ServerUser } from '../../../src/core/db/embedded-settings.ts';
import { isInstalled } from '../installed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { makeBinDir } from './tools.ts';

/** Returns why there can be no cluster, or undefined if there can. */
export const patroniIsMissing = (): string | undefined =>
  ['patroni', 'etcd', 'python3'].every(isInstalled)
    ? undefined
    : "Patroni or etcd is not installed: the Debian packages are 'patroni' and 'etcd-server'";

/** A server of PostgreSQL and the Patroni that runs it. */
export type PatroniNode = {
  readonly name: string;
  start(): Promise<void>;
  /** Ends both as a power cut would. */
  kill(): Promise<void>;
  /** Stops Patroni and leaves PostgreSQL running; `thaw` continues it. */
  freeze(): void;
  thaw(): void;
  /** Cuts Patroni off from etcd; `reconnect` ends that. */
  cutOff(): void;
  reconnect(): void;
  /** Asks Patroni for the members, as it sees them. Rejects if it does not respond. */
  members(): Promise<Member[]>;
  /** Makes a standby the primary, by request and in order. */
  switchTo(candidate: PatroniNode): Promise<void>;
};

type Member = { readonly name: string; readonly role: string; readonly state: string; readonly timeline?: number };

export type PatroniCluster = {
  readonly nodes: readonly PatroniNode[];
  /** The URL with all hosts. */
  readonly url: string;
  /** Resolves with primary and synchronous standby when all nodes run, on the same timeline. */
  untilHealthy(): Promise<{ leader: PatroniNode; synchronous: PatroniNode }>;
  /** Resolves when a node other than this one is the primary, as the others see it. */
  untilReplaced(leader: PatroniNode): Promise<void>;
  stop(): Promise<void>;
};

/** Short times, so that a failover takes seconds: Patroni gives up its lease after `ttl`. */
const DCS = {
  ttl: 8,
  loop_wait: 1,
  retry_timeout: 3,
  primary_start_timeout: 0,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  postgresql: {
    use_pg_rewind: false,
    parameters: { wal_keep_size: '1GB', max_connections: 100, shared_buffers: '64MB', jit: 'off' },
  },
};
const [USER, PASSWORD] = ['heliograph', 'secret'];
const LOCALE = [
  { encoding: 'UTF8' },
  { 'locale-provider': 'builtin' },
  { 'builtin-locale': 'C.UTF-8' },
  { locale: 'C.UTF-8' },
];
const REQUEST_MS = 3000;

const taken = new Set<number>();

/**
 * Returns a free port that outgoing connections do not get, and that this function has not returned before: it is used some
 * time later, and again after each kill.
 */
async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = net.createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (isFree) await new Promise((resolve) => server.close(resolve));
    if (!isFree || taken.has(port)) continue;
    taken.add(port);
    return port;
  }
}

/** Starts three nodes with the built-in PostgreSQL, and an etcd. Resolves when two replicas follow the primary. */
export async function startPatroni(): Promise<PatroniCluster> {
  const folder = await temporaryFolder('heliograph-patroni-');
  const user = await findServerUser(join(folder, 'none'));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const etcd = await startEtcd(folder);
  const nodes: Node[] = [];
  for (const name of ['p1', 'p2', 'p3']) nodes.push(await makeNode(folder, name, etcd.port, user));
  for (const node of nodes) await node.start();

  const memberList = (): Promise<Member[]> => Promise.any(nodes.map((node) => node.members()));
  const cluster: PatroniCluster = {
    nodes,
    url: `postgres://${USER}:${PASSWORD}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres`,
    untilHealthy: () =>
      until('primary, synchronous standby and replica', async () => {
        const members = await memberList().catch(() => []);
        const of = (role: string): Node | undefined =>
          nodes.find(({ name }) => members.some((member) => member.name === name && member.role === role));
        const [leader, synchronous] = [of('leader'), of('sync_standby')];
        const run = members.filter(({ state }) => state === 'running' || state === 'streaming').length;
        const timelines = new Set(members.map(({ timeline }) => timeline));
        const isWhole = run === nodes.length && timelines.size === 1;
        return leader !== undefined && synchronous !== undefined && isWhole && { leader, synchronous };
      }),
    async untilReplaced(leader) {
      const others = nodes.filter((node) => node !== leader);
      await until(`another primary than ${leader.name}`, async () => {
        const members = await Promise.any(others.map((node) => node.members())).catch(() => []);
        return members.some(
          ({ name, role, state }) => role === 'leader' && name !== leader.name && state === 'running',
        );
      });
    },
    async stop() {
      for (const node of nodes) await node.end();
      await etcd.stop();
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
  try {
    await cluster.untilHealthy();
  } catch (error) {
    await Promise.all(nodes.map((node) => node.end())).then(etcd.stop);
    throw new Error(`Patroni did not start: see the logs in ${folder}`, { cause: error });
  }
  return cluster;
}

async function startEtcd(folder: string): Promise<{ port: number; stop(): Promise<void> }> {
  const [port, peerPort] = [await reservePort(), await reservePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const urls = {
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'data-dir': join(folder, 'etcd'),
  };
  const args = Object.entries(urls).map(([name, value]) => `--${name}=${value}`);
  const child = spawn('etcd', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  logTo(child, join(folder, 'etcd.log'));
  await until('etcd', () =>
    fetch(`${client}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { port, stop: () => killChild(child) };
}

type Node = PatroniNode & { readonly port: number; end(): Promise<void> };

async function makeNode(folder: string, name: string, etcdPort: number, user: ServerUser | undefined): Promise<Node> {
  const dir = join(folder, name);
  const dataDir = join(dir, 'data');
  const { postgres } = await findBinaries(user);
  await mkdir(dir, { mode: 0o700 });
  await makeBinDir(join(dir, 'bin'), { postgres, dataDir });
  const script = join(dir, 'create-replica.py');
  await copyFile(join(import.meta.dirname, 'create-replica.py'), script);
  await chmod(script, 0o644);
  const gate = await startGate(etcdPort);
  const [port, restPort] = [await reservePort(), await reservePort()];
  const configuration = {
    scope: 'heliograph',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { hosts: `127.0.0.1:${gate.port}`, use_proxies: true },
    bootstrap: { dcs: DCS, initdb: LOCALE },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: dataDir,
      bin_dir: join(dir, 'bin'),
      pgpass: join(dir, 'pgpass'),
      authentication: {
        superuser: { username: USER, password: PASSWORD },
        replication: { username: USER, password: PASSWORD },
      },
      parameters: { unix_socket_directories: dir },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
      create_replica_methods: ['copy'],
      copy: { command: `python3 ${script}` },
      remove_data_directory_on_diverged_timelines: true,
      remove_data_directory_on_rewind_failure: true,
    },
    tags: {},
  };
  // JSON is YAML.
  await writeFile(join(dir, 'patroni.yml'), JSON.stringify(configuration, null, 2));
  if (user !== undefined) for (const path of [dir, join(dir, 'patroni.yml')]) await chown(path, user.uid, user.gid);

  let child: ChildProcess | null = null;
  const request = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`http://127.0.0.1:${restPort}${path}`, { ...init, signal: AbortSignal.timeout(REQUEST_MS * 10) });
  const node: Node = {
    name,
    port,
    async start() {
      const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dir, LC_ALL: 'C.UTF-8' };
      child = spawn('patroni', [join(dir, 'patroni.yml')], {
        ...user,
        env,
        cwd: dir,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      logTo(child, join(folder, `${name}.log`));
    },
    async kill() {
      if (child !== null) await killChild(child);
      const server = await findServer(dataDir);
      if (server === undefined) return;
      process.kill(server.pid, 'SIGKILL');
      await until(`the end of ${name}`, async () => (await findServer(dataDir)) === undefined);
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    cutOff: gate.shut,
    reconnect: gate.open,
    async members() {
      const response = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal: AbortSignal.timeout(REQUEST_MS) });
      const { members } = (await response.json()) as { members: Member[] };
      return members;
    },
    async switchTo(candidate) {
      const body = JSON.stringify({ leader: name, candidate: candidate.name });
      const response = await request('/switchover', { method: 'POST', body });
      if (!response.ok) throw new Error(`no switchover: ${await response.text()}`);
    },
    async end() {
      if (child !== null) await killChild(child);
      await stopServer(dataDir);
      await gate.close();
    },
  };
  return node;
}

/** Stands between a Patroni and etcd. While it is shut, no connection passes. */
async function startGate(target: number) {
  const sockets = new Set<net.Socket>();
  let isShut = false;
  const server = net.createServer((client) => {
    if (isShut) return void client.destroy();
    const upstream = net.connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shut = (): void => {
    isShut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: Number(Object(server.address()).port),
    shut,
    open: () => void (isShut = false),
    async close() {
      shut();
      server.close();
      await once(server, 'close');
    },
  };
}

function logTo(child: ChildProcess, file: string): void {
  const log = createWriteStream(file, { flags: 'a' });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
