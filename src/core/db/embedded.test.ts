import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { embeddedSite, valueOf } from '../../../test/support/embedded-site.ts';
import { until } from '../../../test/support/until.ts';
import { operatingSystem } from '../machine.ts';
import { askToStop, findServer } from './embedded-process.ts';

// What kills servers and processes is in embedded.full.test.ts.

const site = embeddedSite();

test('a server ends in good order without signals, as on Windows', async () => {
  onTestFinished(site.stopAll);
  await site.start();
  const pid = await site.serverPid();
  const { programSuffix } = operatingSystem();
  await askToStop({ clusterDir: site.clusterDir, pid }, { ...operatingSystem('win32'), programSuffix });
  await until('its end', async () => (await site.serverPid()) === 0);
  await until('the last line of its log', async () =>
    (await readFile(join(site.dataDir, 'postgres.log'), 'utf8')).endsWith('database system is shut down\n'),
  );
});

describe('a running server', () => {
  // Each test attaches to the server that the first one has started.
  afterAll(site.stopAll);

  test('commits durably, whatever postgresql.conf says', async () => {
    const { connectionString } = await site.start();
    for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      expect([name, await valueOf(connectionString, `SHOW ${name}`)]).toEqual([name, 'on']);
    }
  });

  test('asks for the password, which only the owner of DATA_DIR can read', async () => {
    const { connectionString } = await site.start();
    const wrong = new URL(connectionString);
    wrong.password = 'guess';
    await expect(valueOf(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(await valueOf(connectionString, "SELECT passwd LIKE 'SCRAM-SHA-256%' FROM pg_shadow")).toBe(true);
  });

  test('listens on 127.0.0.1 and nowhere else', async () => {
    const { connectionString } = await site.start();
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

  test('is reached over a socket in its folder, which no other user may enter, with the password', async () => {
    const { connectionString } = await site.start();
    const url = new URL(connectionString);
    expect(url.searchParams.get('host')).toBe(site.clusterDir);
    expect(await valueOf(connectionString, 'SELECT inet_server_addr()')).toBeNull();
    const socket = await stat(join(site.clusterDir, `.s.PGSQL.${url.port}`));
    expect([(await stat(site.clusterDir)).mode & 0o777, socket.mode & 0o777]).toEqual([0o700, 0o600]);
    url.password = 'guess';
    await expect(valueOf(url.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  });

  test('is reached over TCP by the same connection string without the socket', async () => {
    const url = new URL((await site.start()).connectionString);
    url.search = '';
    expect(await valueOf(url.href, 'SELECT host(inet_server_addr())')).toBe('127.0.0.1');
  });

  test('knows letters of every alphabet and orders text by code point', async () => {
    const { connectionString } = await site.start();
    expect(await valueOf(connectionString, "SELECT upper('éß') || ('a' > 'B')::text")).toBe('Éßtrue');
    await runOn(connectionString, 'CREATE EXTENSION IF NOT EXISTS pg_trgm');
    expect(await valueOf(connectionString, "SELECT cardinality(show_trgm('δέλτα'))")).toBe(6);
  });

  test('keeps its data over stop and start, and stops although clients are connected', async () => {
    // The servers of the tests before would restart what stops here.
    await site.releaseAll();
    const first = await site.start();
    await runOn(first.connectionString, 'CREATE TABLE kept AS SELECT 42 AS value');
    const client = new pg.Client({ connectionString: first.connectionString });
    client.on('error', () => {});
    await client.connect();
    await first.stop();
    expect(await findServer(site.clusterDir)).toBeUndefined();
    const second = await site.start();
    expect(second.attached).toBe(false);
    expect(await valueOf(second.connectionString, 'SELECT value FROM kept')).toBe(42);
  });
});

describe('an error that a person can fix says what to do', () => {
  afterEach(site.stopAll);

  async function withChanged(file: string, content: string | undefined, sentence: RegExp): Promise<void> {
    const path = join(site.dataDir, file);
    const original = await readFile(path);
    if (content === undefined) await rm(path);
    else await writeFile(path, content);
    try {
      await expect(site.start()).rejects.toThrow(
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
    const file = join(site.dataDir, '..', 'file');
    await writeFile(file, '');
    await expect(site.start(file)).rejects.toThrow(`DATA_DIR ${file} is not a folder: set DATA_DIR to a folder.`);
    await expect(site.start(join(file, 'below'))).rejects.toThrow('is not a folder');
  });

  test('a postgres folder that contains something else', async () => {
    const dir = join(site.dataDir, '..', 'other');
    await mkdir(join(dir, 'postgres'), { recursive: true });
    await expect(site.start(dir)).rejects.toThrow('contains no PostgreSQL data');
    expect(existsSync(join(dir, 'postgres'))).toBe(true);
  });
});
