import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rmdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { removeDataDir } from '../../../test/support/data-dir.ts';
import { embeddedSite, valueOf } from '../../../test/support/embedded-site.ts';
import { until } from '../../../test/support/until.ts';
import { silentLog } from '../log.ts';
import { attachEmbedded } from './embedded.ts';
import { ensureRunning, findServer, type Site } from './embedded-process.ts';
import { findBinaries, findServerUser } from './embedded-settings.ts';

const site = embeddedSite();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await site.stopAll();
});

/** Returns the site of a stopped cluster, and the port on which it ran last. */
async function stoppedSite(): Promise<{ stopped: Site; port: number }> {
  const server = await site.start();
  await server.stop();
  const user = await findServerUser(site.clusterDir);
  const { postgres } = await findBinaries(user);
  const stopped = {
    clusterDir: site.clusterDir,
    logFile: join(site.dataDir, 'postgres.log'),
    postgres,
    user,
    durable: true,
  };
  return { stopped, port: Number(new URL(server.connectionString).port) };
}

/** Another process that runs the database; resolves with it and the connection string that it printed. */
async function startInChild(dir = site.dataDir): Promise<{ child: ChildProcess; connectionString: string }> {
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

describe('after a crash', () => {
  test('the server of a killed gateway keeps running, and the next start attaches to it', async () => {
    const { child, connectionString } = await startInChild();
    const pid = await site.serverPid();
    await killed(child);
    const next = await site.start();
    expect(next).toMatchObject({ attached: true, connectionString });
    expect(await site.serverPid()).toBe(pid);
    await next.stop();
    expect(await findServer(site.clusterDir)).toBeUndefined();
  });

  test('a server that was killed with its gateway recovers what was committed', async () => {
    const { child, connectionString } = await startInChild();
    await runOn(connectionString, 'CREATE TABLE recovered AS SELECT 42 AS value');
    await killed(child);
    process.kill(await site.serverPid(), 'SIGKILL');
    const next = await site.start();
    expect(next.attached).toBe(false);
    expect(await valueOf(next.connectionString, 'SELECT value FROM recovered')).toBe(42);
  });

  test('a server that is killed under a running gateway is restarted at the same address', async () => {
    const { connectionString } = await site.start();
    const pid = await site.serverPid();
    process.kill(pid, 'SIGKILL');
    await until('another server', async () => {
      const server = await findServer(site.clusterDir);
      return server?.ready === true && server.pid !== pid;
    });
    expect(await valueOf(connectionString, 'SELECT 1')).toBe(1);
  });

  test('a pid file whose pid belongs to another program does not prevent the start', async () => {
    const server = await site.start();
    const pid = await site.serverPid();
    const pidFile = await readFile(join(site.clusterDir, 'postmaster.pid'), 'utf8');
    await server.stop();
    const foreignProcess = spawn('sleep', ['60'], { ...(await findServerUser(site.clusterDir)), stdio: 'ignore' });
    children.push(foreignProcess);
    await writeFile(join(site.clusterDir, 'postmaster.pid'), pidFile.replace(String(pid), String(foreignProcess.pid)));
    expect((await site.start()).attached).toBe(false);
    expect(foreignProcess.exitCode).toBeNull();
  });

  test('a start that is killed half way does not affect the next one', async () => {
    const dir = join(site.dataDir, '..', 'interrupted');
    await mkdir(join(dir, 'postgres.new-999999999'), { recursive: true });
    await writeFile(join(dir, 'postgres.new-999999999', 'PG_VERSION'), '18');
    const server = await site.start(dir);
    expect(await readdir(dir)).not.toContain('postgres.new-999999999');
    await server.stop();
  });
});

test('of several processes that start at once on an empty folder all reach the same server', async () => {
  const dir = join(site.dataDir, '..', 'together');
  const [own, ...others] = await Promise.all([site.start(dir), startInChild(dir), startInChild(dir)]);
  for (const { connectionString } of others) expect(connectionString).toBe(own.connectionString);
  expect(await valueOf(own.connectionString, 'SHOW data_directory')).toBe(join(dir, 'postgres'));
  expect((await readdir(dir)).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
  for (const { child } of others) await killed(child);
  await own.stop();
});

test('where the folder takes no socket, the server starts with TCP alone', async () => {
  const { stopped, port } = await stoppedSite();
  const inTheWay = join(site.clusterDir, `.s.PGSQL.${port}`);
  await mkdir(inTheWay);
  try {
    expect(await ensureRunning(stopped, port)).toMatchObject({ port, socketDir: null });
    const { connectionString } = await site.start();
    expect(new URL(connectionString).search).toBe('');
    expect(await valueOf(connectionString, 'SELECT 1')).toBe(1);
  } finally {
    await rmdir(inTheWay);
  }
});

test('a start waits for its port while another program has it', async () => {
  const { stopped, port } = await stoppedSite();
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  const running = ensureRunning(stopped, port);
  await until('the port in its log', async () =>
    (await readFile(stopped.logFile, 'utf8')).includes('Address already in use'),
  );
  taken.close();
  expect(await running).toMatchObject({ port, attached: false });
});

describe('an operator command', () => {
  const attach = () => attachEmbedded({ dataDir: site.dataDir, log: silentLog });

  test('starts the server if none runs, and stops it at the end', async () => {
    const command = await attach();
    expect(await valueOf(command.connectionString, 'SELECT 1')).toBe(1);
    await command.release();
    expect(await findServer(site.clusterDir)).toBeUndefined();
  });

  test('reaches the server of a running program and leaves it running', async () => {
    const { connectionString } = await site.start();
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

test.runIf(process.getuid?.() === 0)(
  'below a folder that only root may enter, the cluster lives in /var/lib/heliograph, and says whose it is',
  async () => {
    const closed = join(site.dataDir, '..', 'closed');
    await mkdir(closed, { mode: 0o700 });
    const server = await site.start(join(closed, 'data'));
    const real = await realpath(join(closed, 'data', 'postgres'));
    try {
      expect(real).toMatch(/^\/var\/lib\/heliograph\//);
      expect(await valueOf(server.connectionString, 'SHOW data_directory')).toBe(real);
      await server.release();
      expect(await site.start(join(closed, 'data'))).toMatchObject({ attached: true });
      expect(await readFile(join(real, 'DATA_DIR'), 'utf8')).toBe(join(closed, 'data'));
    } finally {
      await site.releaseAll();
      await removeDataDir(join(closed, 'data'));
    }
    expect([existsSync(real), existsSync(join(closed, 'data'))]).toEqual([false, false]);
  },
);
