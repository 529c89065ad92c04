import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { explainDatabaseError, StartupError } from './startup-error.ts';

async function explain(change: (url: URL) => void, connectionTimeoutMillis = 60_000): Promise<string> {
  const url = new URL(inject('clusterUrl'));
  // Over TCP, as to a server elsewhere.
  url.search = '';
  change(url);
  const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis });
  client.on('error', () => {});
  const error = await client.connect().then(() => undefined, explainDatabaseError);
  // A client that fails between two steps of the authentication keeps its connection, and the server waits for the next
  // step for a minute. Until then it creates and drops no database for any client.
  await client.end();
  return error instanceof StartupError ? error.message : `not explained: ${String(error)}`;
}

async function mutePort(): Promise<{ port: number; close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, close: () => server.close() };
}

test('a wrong password', async () => {
  expect(await explain((url) => (url.password = 'wrong'))).toMatch(/rejected the password: correct .* DATABASE_URL/);
});

test('a database that does not exist', async () => {
  expect(await explain((url) => (url.pathname = '/nowhere'))).toMatch(/does not exist: create it/);
});

test('a port where nothing listens', async () => {
  const { port, close } = await mutePort();
  close();
  expect(await explain((url) => (url.port = String(port)))).toMatch(/Nothing responds/);
});

test('a port where a server does not respond', async () => {
  const { port, close } = await mutePort();
  const explained = await explain((url) => (url.port = String(port)), 300);
  expect(explained).toMatch(/does not respond: check host, port and firewall/);
  close();
});

test('a server without TLS', async () => {
  expect(await explain((url) => (url.search = '?ssl=true'))).toMatch(/does not support TLS: remove sslmode/);
});

test('no password', async () => {
  expect(await explain((url) => (url.password = ''))).toMatch(/has no password/);
});

test('a full disk and a folder that may not be written', () => {
  const systemError = (code: string): Error => Object.assign(new Error(code), { code });
  expect(explainDatabaseError(systemError('ENOSPC'))).toMatchObject({
    message: 'The disk is full: free some space, then start again.',
  });
  const refused = Object.assign(systemError('EACCES'), { path: '/data/secret.key' });
  expect(explainDatabaseError(refused)).toMatchObject({
    message: expect.stringMatching('^/data/secret.key may not be read or written by this user: change its owner'),
  });
});

test("a socket of another user's PostgreSQL", () => {
  const path = '/run/postgresql/.s.PGSQL.5432';
  const refused = Object.assign(new Error(`connect EACCES ${path}`), {
    code: 'EACCES',
    syscall: 'connect',
    address: path,
  });
  expect(explainDatabaseError(refused)).toMatchObject({
    message: `${path} does not let this user connect: run this as the user of the gateway, or correct DATABASE_URL.`,
  });
});

test('an error that only a programmer can fix stays as it is, and so does one that is explained already', () => {
  for (const error of [new TypeError('x is undefined'), new StartupError('done'), 'text']) {
    expect(explainDatabaseError(error)).toBe(error);
  }
});
