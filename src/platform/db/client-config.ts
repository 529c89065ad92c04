import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import pg from 'pg';
import { type DatabaseTls, readTls } from '../lib/database-url.ts';
import { StartupError } from './startup-error.ts';

// The types omit these parts of the library.
declare module 'pg' {
  interface ClientConfig {
    connection?: Connection;
  }
  interface Connection {
    ssl: boolean | ConnectionOptions;
    connect(port: number, host: string): void;
    attachListeners(stream: Duplex): void;
    upgradeToSSL(host: string, report: (error: Error) => void): void;
  }
}

/**
 * Returns the driver's options for a session with the server of a URL, in addition to `options`: address, credentials,
 * and TLS as `readTls` reads it. The files that the URL names are read each time, so that renewed certificates need no
 * restart; if one cannot be used then, its last contents still apply.
 *
 * Throws a StartupError that names the parameter if a file cannot be used from the start.
 */
export function clientConfig(url: string, options: pg.ClientConfig): pg.ClientConfig {
  const { server, tls } = readTls(url);
  const config = { ...options, connectionString: server };
  if (tls.mode === 'disable') return { ...config, ssl: false };
  // Binds the password's proof to this TLS session, for URLs that ask for it.
  const enableChannelBinding = /[?&]channel_binding=(prefer|require)/.test(server);
  const ssl = optionsOf(tls);
  const withTls: pg.ClientConfig = {
    ...config,
    ssl,
    sslnegotiation: tls.isDirect ? 'direct' : 'postgres',
    enableChannelBinding,
  };
  const isOptional = tls.mode === 'prefer' || tls.mode === 'allow';
  return isOptional ? { ...withTls, connection: preferringConnection(config, ssl) } : withTls;
}

/**
 * Creates a connection that continues without TLS if the server offers none; the driver's own would fail. The driver's
 * session asks for TLS, and this connection uses it only once the server agrees.
 */
function preferringConnection(config: pg.ClientConfig, ssl: ConnectionOptions): pg.Connection {
  const connection = new pg.Connection({ ...config, ssl: false });
  const connect = connection.connect.bind(connection);
  const attachListeners = connection.attachListeners.bind(connection);
  const fail = (error: Error): void => void connection.emit('error', error);
  let host = '';

  /** The response to the request is one byte, S or N: more of them could only come from an attacker in between. */
  function goOn(stream: Duplex, octets: Buffer): void {
    connection.attachListeners = attachListeners;
    const answer = octets.toString('latin1');
    if (answer === 'S') {
      connection.ssl = ssl;
      connection.upgradeToSSL(host, fail);
    } else if (answer === 'N') {
      attachListeners(stream);
      connection.emit('sslconnect');
    } else if (answer.startsWith('E')) {
      // The error of a server that has no process available for us.
      attachListeners(stream);
      stream.unshift(octets);
    } else {
      stream.destroy();
      fail(new Error('the server answered the request for TLS with neither yes nor no'));
    }
  }

  connection.connect = (port, to) => {
    host = to;
    connect(port, to);
  };
  connection.attachListeners = (stream) => void stream.once('data', (octets: Buffer) => goOn(stream, octets));
  return connection;
}

function optionsOf(tls: DatabaseTls): ConnectionOptions {
  return {
    secureContext: contextOf(tls),
    rejectUnauthorized: tls.checks !== 'nothing',
    ...(tls.checks === 'authority' && { checkServerIdentity: () => undefined }),
  };
}

type Known = { readonly files: string; readonly context: SecureContext };

/** Last result for each set of parameters: parsing the authorities of a machine takes a while. */
const known = new Map<string, Known>();

function contextOf(tls: DatabaseTls): SecureContext {
  const key = JSON.stringify(tls);
  const before = known.get(key);
  try {
    const read = readFiles(tls);
    const files = JSON.stringify(read);
    if (before?.files === files) return before.context;
    const context = makeContext(tls, read);
    known.set(key, { files, context });
    return context;
  } catch (error) {
    if (before !== undefined) return before.context;
    throw error;
  }
}

type Files = { readonly ca: string | undefined; readonly cert: string | undefined; readonly key: string | undefined };

const readFiles = (tls: DatabaseTls): Files => ({
  ca: tls.sslrootcert === 'system' ? undefined : readPem('sslrootcert', tls.sslrootcert),
  cert: readPem('sslcert', tls.sslcert),
  key: readPem('sslkey', tls.sslkey),
});

function readPem(parameter: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new StartupError(
      `The file ${path} cannot be read (${reason}): correct ${parameter} in the URL of the database, or let this user read it.`,
      { cause },
    );
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new StartupError(`The file ${path} is not in PEM format: convert it, or correct ${parameter} in the URL.`);
}

function makeContext({ checks, sslrootcert, sslpassword }: DatabaseTls, { ca, cert, key }: Files): SecureContext {
  const isSystem = checks === 'authority and name' && (sslrootcert === undefined || sslrootcert === 'system');
  try {
    // An authority that cannot be parsed is ignored, and would appear as an untrusted server.
    if (ca !== undefined) void new X509Certificate(ca);
    return createSecureContext({
      // Also those that come with Node: small containers have none.
      ca: isSystem ? [...getCACertificates('default'), ...getCACertificates('system')] : ca,
      cert,
      key,
      passphrase: sslpassword,
      minVersion: 'TLSv1.2',
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(
      `The certificates for PostgreSQL cannot be used (${reason}): correct sslrootcert, sslcert, sslkey or sslpassword in the URL of the database.`,
      { cause },
    );
  }
}
