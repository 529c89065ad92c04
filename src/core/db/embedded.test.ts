import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { removeDataDir } from '../../../test/support/data-dir.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { silentLog } from '../log.ts';
import { operatingSystem } from '../machine.ts';
import { attachEmbedded, type EmbeddedServer, startEmbedded } from './embedded.ts';
import { askToStop, ensureRunning, findServer, type Site, stopServer } from './embedded-process.ts';
import { findBinaries, findServerUser } from './embedded-settings.ts';

let dataDir: string;
let clusterDir: string;
const children: ChildProcess[] = [];
const servers: EmbeddedServer[] = [];

beforeAll(async () => {
  dataDir = join(await temporaryFolder(`heliograph-test-${process.pid}-`), 'data');
  clusterDir = join(dataDir, 'postgres');
  await (await start()).stop();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  // Otherwise they would restart what the next line stops.
  await Promise.all(servers.splice(0).map((server) => server.release()));
  await stopServer(clusterDir);
});
afterAll(async () => {
  await removeDataDir(dataDir);
  await rm(join(dataDir, '..'), { recursive: true, maxRetries: 10 });
});

async function start(dir = dataDir): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir: dir, log: silentLog });
  servers.push(server);
  return server;
}

/** Returns the site of a stopped cluster, and the port on which it ran last. */
async function stoppedSite(): Promise<{ site: Site; port: number }> {
  const server = await start();
  await server.stop();
  const user = await findServerUser(clusterDir);
  const { postgres } = await findBinaries(user);
  const site = { clusterDir, logFile: join(dataDir, 'postgres.log'), postgres, user, durable: true };
  return { site, port: Number(new URL(server.connectionString).port) };
}

/** Another process that runs the database; resolves with it and the connection string that it printed. */
async function startInChild(dir = dataDir): Promise<{ child: ChildProcess; connectionString: string }> {
  const script = fileURLToPath(new URL('../../../test/support/hold-database.ts', import.meta.url));
  const child = spawn(process.execPath, [script, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  for await (const connectionString of createInterface(child.stdout)) return { child, connectionString };
  throw new Error('the child ended');
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function valueOf(connectionString: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<unknown[]>({ text: query, rowMode: 'array' });
  await client.end();
  return rows[0]?.[0];
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 90_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('not reached in 90 s');
    await delay(20);
  }
}

const serverPid = async (): Promise<number> => (await findServer(clusterDir))?.pid ?? 0;

test('a server ends in good order without signals, as on Windows', async () => {
  await start();
  const pid = await serverPid();
  const { programSuffix } = operatingSystem();
  await askToStop({ clusterDir, pid }, { ...operatingSystem('win32'), programSuffix });
  await until(async () => (await serverPid()) === 0);
  await until(async () =>
    (await readFile(join(dataDir, 'postgres.log'), 'utf8')).endsWith('database system is shut down\n'),
  );
});

describe('a running server', () => {
  test('commits durably, whatever postgresql.conf says', async () => {
    const { connectionString } = await start();
    for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      expect([name, await valueOf(connectionString, `SHOW ${name}`)]).toEqual([name, 'on']);
    }
  });

  test('asks for the password, which only the owner of DATA_DIR can read', async () => {
    const { connectionString } = await start();
    const wrong = new URL(connectionString);
    wrong.password = 'guess';
    await expect(valueOf(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(await valueOf(connectionString, "SELECT passwd LIKE 'SCRAM-SHA-256%' FROM pg_shadow")).toBe(true);
  });

  test('listens on 127.0.0.1 and nowhere else', async () => {
    const { connectionString } = await start();
    expect(await valueOf(connectionString, 'SHOW listen_addresses')).toBe('127.0.0.1');
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.internal === false);
    if (outside === undefined) return;
    const elsewhere = new URL(connectionString);
    elsewhere.search = '';
    elsewhere.hostname = outside.family === 'IPv6' ? `[${outside.address}]` : outside.address;
    await expect(valueOf(elsewhere.href, 'SELECT 1')).rejects.toThrow();
  });

  test('is reached over a socket in its folder, which nobody else may enter, with the password', async () => {
    const { connectionString } = await start();
    const url = new URL(connectionString);
    expect(url.searchParams.get('host')).toBe(clusterDir);
    expect(await valueOf(connectionString, 'SELECT inet_server_addr()')).toBeNull();
    const socket = await stat(join(clusterDir, `.s.PGSQL.${url.port}`));
    expect([(await stat(clusterDir)).mode & 0o777, socket.mode & 0o777]).toEqual([0o700, 0o600]);
    url.password = 'guess';
    await expect(valueOf(url.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  });

  test('is reached over TCP by the same connection string without the socket', async () => {
    const url = new URL((await start()).connectionString);
    url.search = '';
    expect(await valueOf(url.href, 'SELECT host(inet_server_addr())')).toBe('127.0.0.1');
  });

  test('knows letters of every alphabet and orders text by code point', async () => {
    const { connectionString } = await start();
    expect(await valueOf(connectionString, "SELECT upper('éß') || ('a' > 'B')::text")).toBe('Éßtrue');
    await runOn(connectionString, 'CREATE EXTENSION IF NOT EXISTS pg_trgm');
    expect(await valueOf(connectionString, "SELECT cardinality(show_trgm('δέλτα'))")).toBe(6);
  });

  test('keeps its data over stop and start, and stops although clients are connected', async () => {
    const first = await start();
    await runOn(first.connectionString, 'CREATE TABLE kept AS SELECT 42 AS value');
    const client = new pg.Client({ connectionString: first.connectionString });
    client.on('error', () => {});
    await client.connect();
    await first.stop();
    expect(await findServer(clusterDir)).toBeUndefined();
    const second = await start();
    expect(second.attached).toBe(false);
    expect(await valueOf(second.connectionString, 'SELECT value FROM kept')).toBe(42);
  });
});

describe('after a crash', () => {
  test('the server of a killed gateway keeps running, and the next start attaches to it', async () => {
    const { child, connectionString } = await startInChild();
    const pid = await serverPid();
    await killed(child);
    const next = await start();
    expect(next).toMatchObject({ attached: true, connectionString });
    expect(await serverPid()).toBe(pid);
    await next.stop();
    expect(await findServer(clusterDir)).toBeUndefined();
  });

  test('a server that was killed with its gateway recovers what was committed', async () => {
    const { child, connectionString } = await startInChild();
    await runOn(connectionString, 'CREATE TABLE recovered AS SELECT 42 AS value');
    await killed(child);
    process.kill(await serverPid(), 'SIGKILL');
    const next = await start();
    expect(next.attached).toBe(false);
    expect(await valueOf(next.connectionString, 'SELECT value FROM recovered')).toBe(42);
  });

  test('a server that is killed under a running gateway is restarted at the same address', async () => {
    const { connectionString } = await start();
    const pid = await serverPid();
    process.kill(pid, 'SIGKILL');
    await until(async () => {
      const server = await findServer(clusterDir);
      return server?.ready === true && server.pid !== pid;
    });
    expect(await valueOf(connectionString, 'SELECT 1')).toBe(1);
  });

  test('a pid file whose pid belongs to another program does not prevent the start', async () => {
    const server = await start();
    const pid = await serverPid();
    const pidFile = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8');
    await server.stop();
    const stranger = spawn('sleep', ['60'], { ...(await findServerUser(clusterDir)), stdio: 'ignore' });
    children.push(stranger);
    await writeFile(join(clusterDir, 'postmaster.pid'), pidFile.replace(String(pid), String(stranger.pid)));
    expect((await start()).attached).toBe(false);
    expect(stranger.exitCode).toBeNull();
  });

  test('a start that is killed half way does not affect the next one', async () => {
    const dir = join(dataDir, '..', 'interrupted');
    await mkdir(join(dir, 'postgres.new-999999999'), { recursive: true });
    await writeFile(join(dir, 'postgres.new-999999999', 'PG_VERSION'), '18');
    const server = await start(dir);
    expect(await readdir(dir)).not.toContain('postgres.new-999999999');
    await server.stop();
  });
});

test('of several processes that start at once on an empty folder all reach the same server', async () => {
  const dir = join(dataDir, '..', 'together');
  const [own, ...others] = await Promise.all([start(dir), startInChild(dir), startInChild(dir)]);
  for (const { connectionString } of others) expect(connectionString).toBe(own.connectionString);
  expect(await valueOf(own.connectionString, 'SHOW data_directory')).toBe(join(dir, 'postgres'));
  expect((await readdir(dir)).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
  for (const { child } of others) await killed(child);
  await own.stop();
});

test('where the folder takes no socket, the server starts with TCP alone', async () => {
  const { site, port } = await stoppedSite();
  const inTheWay = join(clusterDir, `.s.PGSQL.${port}`);
  await mkdir(inTheWay);
  try {
    expect(await ensureRunning(site, port)).toMatchObject({ port, socketDir: null });
    const { connectionString } = await start();
    expect(new URL(connectionString).search).toBe('');
    expect(await valueOf(connectionString, 'SELECT 1')).toBe(1);
  } finally {
    await rmdir(inTheWay);
  }
});

test('a start waits for its port while another program has it', async () => {
  const { site, port } = await stoppedSite();
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  const running = ensureRunning(site, port);
  await until(async () => (await readFile(site.logFile, 'utf8')).includes('Address already in use'));
  taken.close();
  expect(await running).toMatchObject({ port, attached: false });
});

describe('an operator command', () => {
  const attach = () => attachEmbedded({ dataDir, log: silentLog });

  test('starts the server if none runs, and stops it at the end', async () => {
    const command = await attach();
    expect(await valueOf(command.connectionString, 'SELECT 1')).toBe(1);
    await command.release();
    expect(await findServer(clusterDir)).toBeUndefined();
  });

  test('reaches the server of a running program and leaves it running', async () => {
    const { connectionString } = await start();
    const command = await attach();
    expect(command.connectionString).toBe(connectionString);
    await command.release();
    expect(await valueOf(connectionString, 'SELECT 1')).toBe(1);
  });

  test('leaves the server to a program that connected during the command', async () => {
    const command = await attach();
    const program = new pg.Client({ connectionString: command.connectionString });
    await program.connect();
    await command.release();
    expect((await program.query('SELECT 1')).rowCount).toBe(1);
    await program.end();
  });
});

describe('an error that a person can fix says what to do', () => {
  async function withChanged(file: string, content: string | undefined, sentence: RegExp): Promise<void> {
    const path = join(dataDir, file);
    const original = await readFile(path);
    if (content === undefined) await rm(path);
    else await writeFile(path, content);
    try {
      await expect(start()).rejects.toThrow(
        expect.objectContaining({ name: 'StartupError', message: expect.stringMatching(sentence) }),
      );
    } finally {
      await writeFile(path, original, { mode: 0o600 });
    }
  }

  test('data of another major version', () =>
    withChanged(
      'postgres/PG_VERSION',
      '17\n',
      /is from PostgreSQL 17, and this program has PostgreSQL 18: start the release/,
    ));
  test('a password file that is missing', () =>
    withChanged('postgres.password', undefined, /postgres\.password, the password of .*, is missing: restore it/));
  test('a password file that belongs to another cluster', () =>
    withChanged('postgres.password', 'another', /password in DATA_DIR\/postgres\.password does not match/));
  test('a configuration that PostgreSQL rejects', () =>
    withChanged(
      'postgres/postgresql.conf',
      'nonsense = 1',
      /PostgreSQL did not start: .*contains errors.*Its log is .*postgres\.log/,
    ));

  test('a DATA_DIR that is a file', async () => {
    const file = join(dataDir, '..', 'file');
    await writeFile(file, '');
    await expect(start(file)).rejects.toThrow(`DATA_DIR ${file} is not a folder: set DATA_DIR to a folder.`);
    await expect(start(join(file, 'below'))).rejects.toThrow('is not a folder');
  });

  test('a postgres folder that contains something else', async () => {
    const dir = join(dataDir, '..', 'other');
    await mkdir(join(dir, 'postgres'), { recursive: true });
    await expect(start(dir)).rejects.toThrow('contains no PostgreSQL data');
    expect(existsSync(join(dir, 'postgres'))).toBe(true);
  });
});

test.runIf(process.getuid?.() === 0)(
  'below a folder that only root may enter, the cluster lives in /var/lib/heliograph, and says whose it is',
  async () => {
    const closed = join(dataDir, '..', 'closed');
    await mkdir(closed, { mode: 0o700 });
    const server = await start(join(closed, 'data'));
    const real = await realpath(join(closed, 'data', 'postgres'));
    try {
      expect(real).toMatch(/^\/var\/lib\/heliograph\//);
      expect(await valueOf(server.connectionString, 'SHOW data_directory')).toBe(real);
      await server.release();
      expect(await start(join(closed, 'data'))).toMatchObject({ attached: true });
      expect(await readFile(join(real, 'DATA_DIR'), 'utf8')).toBe(join(closed, 'data'));
    } finally {
      await Promise.all(servers.splice(0).map((other) => other.release()));
      await removeDataDir(join(closed, 'data'));
    }
    expect([existsSync(real), existsSync(join(closed, 'data'))]).toEqual([false, false]);
  },
);
