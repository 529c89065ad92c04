import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { STRANGE_CERT, STRANGE_KEY, TEST_CERT, TEST_KEY } from '../../../test/support/http/certificate.ts';
import { CERTIFIED, startTlsServer, type TlsServer } from '../../../test/support/tls-server.ts';
import { loadConfig } from '../config.ts';
import { silentLog } from '../log.ts';
import { acquireServeLock } from './embedded.ts';
import { createPool, serversOf, waitForPrimary } from './pool.ts';
import { exec, one, sql } from './query.ts';
import { explainDatabaseError } from './startup-error.ts';
import { ensureTenantRole, openSnapshot } from './transaction.ts';
import { openWorkerSession } from './worker-session.ts';

let server: TlsServer;
let right: string;
let wrong: string;
beforeAll(async () => {
  server = await startTlsServer();
  right = await server.file('ca.pem', TEST_CERT);
  wrong = await server.file('other-ca.pem', STRANGE_CERT);
}, 60_000);
afterAll(() => server.stop());

type Session = { readonly ssl: boolean; readonly client: string | null };

/**
 * Returns the server's view of a session with these parameters in DATABASE_URL, or the error that keeps it from being
 * opened.
 */
async function connect(parameters: string, base = server.url): Promise<Session | string> {
  try {
    const { databaseUrl = '' } = loadConfig({ DATABASE_URL: `${base}?${parameters}` });
    const pool = createPool(databaseUrl, { max: 1, applicationName: 'test', log: silentLog });
    return await one<Session>(
      pool,
      sql`SELECT ssl, client_dn AS client FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
    ).finally(() => void pool.end());
  } catch (error) {
    return String(explainDatabaseError(error));
  }
}

const ENCRYPTED = { ssl: true, client: null };
const PLAIN = { ssl: false, client: null };

/** The server under another address, which its certificate does not name. */
async function elsewhere(): Promise<string> {
  const { port, hostname } = new URL(server.url);
  const relay = net.createServer((client) => {
    const target = net.connect(Number(port), hostname);
    for (const socket of [client, target]) socket.on('error', () => socket.destroy());
    client.pipe(target).pipe(client);
  });
  await once(relay.listen(0, '127.0.0.2'), 'listening');
  onTestFinished(() => void relay.close());
  const address = relay.address();
  const url = new URL(server.url);
  url.hostname = '127.0.0.2';
  url.port = String(typeof address === 'object' ? address?.port : '');
  return url.href;
}

/** The server of all tests, which has no TLS, over TCP. */
function withoutTls(): string {
  const url = new URL(inject('clusterUrl'));
  url.search = '';
  return url.href;
}

describe('each sslmode', () => {
  test.each(['', 'sslmode=allow', 'sslmode=prefer', 'sslmode=require', 'sslmode=no-verify', 'ssl=true'])(
    '%j encrypts, with any certificate and any name in it',
    async (parameters) => {
      expect(await connect(parameters, await elsewhere())).toEqual(ENCRYPTED);
    },
  );

  test.each(['require', 'verify-ca'])('%s checks the authority that is given, and not the name', async (mode) => {
    expect(await connect(`sslmode=${mode}&sslrootcert=${right}`, await elsewhere())).toEqual(ENCRYPTED);
    expect(await connect(`sslmode=${mode}&sslrootcert=${wrong}`)).toContain('add sslrootcert=/path/to/ca.pem');
  });

  test('verify-full checks authority and name', async () => {
    const parameters = `sslmode=verify-full&sslrootcert=${right}`;
    expect(await connect(parameters)).toEqual(ENCRYPTED);
    expect(await connect(parameters, server.url.replace('127.0.0.1', 'localhost'))).toEqual(ENCRYPTED);
    expect(await connect(parameters, await elsewhere())).toContain('is for another host name than the one');
    expect(await connect(`sslmode=verify-full&sslrootcert=${wrong}`)).toContain('add sslrootcert=/path/to/ca.pem');
  });

  test.each(['sslmode=verify-full', 'sslmode=verify-full&sslrootcert=system', 'sslrootcert=system'])(
    '%s trusts only what this machine trusts',
    async (parameters) => {
      expect(await connect(parameters)).toContain('not from a known authority');
    },
  );

  test('disable never encrypts, so that a server that insists on it refuses', async () => {
    expect(await connect('sslmode=disable')).toContain('only encrypted connections from here: set sslmode=require');
    expect(await connect('sslmode=disable', withoutTls())).toEqual(PLAIN);
  });

  test.each(['', 'sslmode=allow', 'sslmode=prefer'])(
    '%j goes on in plain text on a server without TLS',
    async (parameters) => {
      expect(await connect(parameters, withoutTls())).toEqual(PLAIN);
    },
  );

  test.each(['require', 'verify-full'])('%s refuses a server without TLS', async (mode) => {
    expect(await connect(`sslmode=${mode}`, withoutTls())).toContain('does not support TLS: remove sslmode');
  });

  test('a socket of this machine is not encrypted, whatever is asked for', async () => {
    const url = inject('clusterUrl');
    expect(url).toContain('host=');
    expect(await connect(`${new URL(url).searchParams.toString()}&sslmode=require`, withoutTls())).toEqual(PLAIN);
  });

  test('sslnegotiation=direct begins with TLS', async () => {
    expect(await connect(`sslmode=verify-full&sslrootcert=${right}&sslnegotiation=direct`)).toEqual(ENCRYPTED);
    expect(await connect(`sslnegotiation=direct`)).toEqual(ENCRYPTED);
  });

  test('channel_binding binds the password to the session', async () => {
    expect(await connect('sslmode=require&channel_binding=require')).toEqual(ENCRYPTED);
  });
});

describe('a server that wants a certificate from us', () => {
  const asCertified = (): string => {
    const url = new URL(server.url);
    [url.username, url.password] = [CERTIFIED, 'secret'];
    return url.href;
  };

  test('gets the one of sslcert and sslkey, whose key may have a password', async () => {
    const key = await server.file('client.key', TEST_KEY);
    const pem = createPrivateKey(TEST_KEY).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'word',
    });
    const locked = await server.file('locked.key', String(pem));
    const known = { ssl: true, client: '/CN=localhost' };
    const cert = `sslmode=require&sslcert=${right}`;
    expect(await connect(`${cert}&sslkey=${key}`, asCertified())).toEqual(known);
    expect(await connect(`${cert}&sslkey=${locked}&sslpassword=word`, asCertified())).toEqual(known);
    expect(await connect(`${cert}&sslkey=${locked}&sslpassword=other`, asCertified())).toContain('or sslpassword');
  });

  test('refuses us without one, and with one that it does not know, and we say what to set', async () => {
    expect(await connect('', asCertified())).toContain('wants a certificate from us: set sslcert and sslkey');
    const key = await server.file('strange.key', STRANGE_KEY);
    const strange = await connect(`sslmode=require&sslcert=${wrong}&sslkey=${key}`, asCertified());
    expect(strange).toContain('does not accept our certificate: set sslcert and sslkey');
  });
});

test.each([
  [
    'sslmode=verify',
    'DATABASE_URL must have sslmode as one of disable, allow, prefer, require, verify-ca, verify-full',
  ],
  ['sslmode=verify-ca', 'DATABASE_URL must have sslrootcert='],
  ['sslmode=require&sslrootcert=system', 'DATABASE_URL must have sslmode=verify-full'],
  ['sslcert=/a.pem', 'DATABASE_URL must have sslcert and sslkey together'],
  ['sslmode=prefer&sslnegotiation=direct', 'DATABASE_URL must have sslmode=require or stricter'],
  ['ssl=perhaps', 'DATABASE_URL must have ssl as one of true, 1, false, 0'],
  ['sslnegotiation=none', 'DATABASE_URL must have sslnegotiation as one of postgres, direct'],
  ['sslcrl=/a.pem', 'DATABASE_URL has the parameter sslcrl, which is not supported'],
  ['sslmode=require&sslrootcert=/nowhere.pem', 'The file /nowhere.pem cannot be read (ENOENT): correct sslrootcert'],
  [`sslmode=require&sslrootcert=${import.meta.filename}`, 'is not in PEM format'],
])('%s ends the start with a sentence', async (parameters, sentence) => {
  expect(await connect(parameters)).toContain(sentence);
});

test('a renewed file counts for the next connection, and one that cannot be used is left out', async () => {
  const authority = await server.file('renewed.pem', STRANGE_CERT);
  const parameters = `sslmode=verify-full&sslrootcert=${authority}`;
  const pool = createPool(`${server.url}?${parameters}`, { max: 1, applicationName: 'test', log: silentLog });
  onTestFinished(() => pool.end());
  const ask = () => one(pool, sql`SELECT 1`);
  await expect(ask()).rejects.toThrow('self-signed certificate');
  await server.file('renewed.pem', 'half a fi');
  await expect(ask()).rejects.toThrow('self-signed certificate');
  await server.file('renewed.pem', TEST_CERT);
  await ask();
});

test('every kind of session is encrypted, also with several hosts', async () => {
  const { port } = new URL(server.url);
  const url = `${server.url.replace(/@[^/]+/, `@127.0.0.1:1,127.0.0.1:${port}`)}?sslmode=verify-full&sslrootcert=${right}`;
  await waitForPrimary(url);
  const pool = createPool(url, { max: 1, applicationName: 'test', log: silentLog });
  await ensureTenantRole(pool);
  // The first queries of an account's session, from the migrations.
  await exec(pool, sql`CREATE TABLE account (id bigint, away text)`);
  await exec(pool, sql`GRANT SELECT ON account TO heliograph_tenant`);
  await exec(pool, sql`CREATE FUNCTION refuse_away(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
  const worker = await openWorkerSession({ connectionString: url, log: silentLog });
  const snapshot = await openSnapshot(url, { accountId: 1 });
  const lock = await acquireServeLock(serversOf(url).current(), 'test');
  const { plain, encrypted } = await one<{ plain: number; encrypted: number }>(
    pool,
    sql`SELECT count(*) FILTER (WHERE NOT ssl) AS plain, count(*) FILTER (WHERE ssl) AS encrypted
        FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_addr IS NOT NULL`,
  );
  expect(plain).toBe(0);
  expect(encrypted).toBeGreaterThanOrEqual(4);
  if (lock.held) await lock.release();
  await Promise.all([snapshot.close(), worker.close(), pool.end()]);
});

test('several hosts of which none has a certificate that we trust name that', async () => {
  const { host } = new URL(server.url);
  const url = `${server.url.replace(host, `${host},${host}`)}?sslmode=verify-full&sslrootcert=${wrong}`;
  await expect(waitForPrimary(url, 3000)).rejects.toThrow(/None of the hosts .* not from a known authority/);
});
