import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import pg, { type Pool } from 'pg';
import type { Log } from '../log.ts';
import { type DatabaseTls, readTls, splitHosts } from './database-url.ts';
import { explainDatabaseError, StartupError } from './startup-error.ts';

type PoolOptions = {
  /** Maximum number of connections. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly log: Log;
};

/**
 * Settings of every session. Statements without a name are planned for their values: a generic plan made while a table
 * was small has slowed down batch statements a hundredfold; only statements marked with `onePlan` may have one. The
 * timeouts end anything that would hold back vacuum or occupy a pool slot forever.
 */
const SESSION_SETTINGS = {
  plan_cache_mode: 'auto',
  jit: 'off',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '30s',
  timezone: 'UTC',
};

const { INT8, DATE } = pg.types.builtins;
/** The OID of bigint[], for which the library has no name. */
const INT8_ARRAY = 1016;

/**
 * Parsing of values by the driver: bigint as a number (an error beyond 2^53 − 1, never a rounded value), timestamptz as
 * a Date, date as 'YYYY-MM-DD'.
 */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (format === 'binary') return pg.types.getTypeParser(oid, format);
    if (oid === INT8) return parseBigint;
    if (Number(oid) === INT8_ARRAY) return parseBigints;
    return oid === DATE ? (text: string) => text : pg.types.getTypeParser(oid, format);
  },
};

function parseBigint(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit a number`);
  return value;
}

/** Parses a one-dimensional array as PostgreSQL writes it: {1,NULL,3}. */
function parseBigints(text: string): (number | null)[] {
  const items = text.slice(1, -1);
  return items === '' ? [] : items.split(',').map((item) => (item === 'NULL' ? null : parseBigint(item)));
}

/**
 * Returns the statements that set up a session. They are statements because PgBouncer rejects settings among the
 * startup parameters (`options`), or drops them.
 */
export const setUp = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `SET ${name} = '${value}'`)
    .join('; ');

/**
 * Creates a pool of sessions with the settings and types above. Connections are opened when needed, so this fails only,
 * with a StartupError, if a certificate named by the URL cannot be used. A lost connection is logged, its query
 * rejects, and the next query opens a new connection.
 *
 * With several hosts, connections are opened to the one that accepted writes when it was last asked. Whenever one
 * cannot be opened or is lost, the hosts are asked again; until one of them accepts writes, queries reject.
 */
export function createPool(connectionString: string, { max, applicationName, log }: PoolOptions): Pool {
  const servers = serversOf(connectionString);
  clientConfig(servers.current(), {});
  async function prepare(client: pg.ClientBase): Promise<void> {
    await client.query(setUp(SESSION_SETTINGS));
    if (servers.areSeveral) await refuseReadOnly(client);
  }
  const pool = new pg.Pool({
    Client: sessionOf(servers),
    // The library waits for this promise, which its types omit.
    onConnect: prepare as (client: pg.ClientBase) => void,
    max,
    application_name: applicationName,
    types: TYPES,
    // Statements are sent without waiting for the results of earlier ones: `burst` needs one round trip per
    // transaction.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
  });
  // The library removes its own listener while a client is checked out, and an 'error' event without a listener ends
  // the process.
  pool.on('connect', (client) => {
    client.on('error', (error) => {
      if (!pool.ending) log.warn({ err: error }, 'database connection lost');
    });
  });
  pool.on('error', () => {});
  return pool;
}

/**
 * Returns a class of sessions, as the pool wants it, that connect to the server that accepted writes last, and follow
 * it.
 */
function sessionOf(servers: Servers): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      const url = servers.current();
      const stream = (): Socket => {
        const socket = new Socket();
        servers.follow(socket, url);
        return socket;
      };
      super(clientConfig(url, { ...(typeof config === 'object' && config), stream }));
    }
  };
}

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
  function goOn(stream: Duplex, bytes: Buffer): void {
    connection.attachListeners = attachListeners;
    const answer = bytes.toString('latin1');
    if (answer === 'S') {
      connection.ssl = ssl;
      connection.upgradeToSSL(host, fail);
    } else if (answer === 'N') {
      attachListeners(stream);
      connection.emit('sslconnect');
    } else if (answer.startsWith('E')) {
      // The error of a server that has no process available for us.
      attachListeners(stream);
      stream.unshift(bytes);
    } else {
      stream.destroy();
      fail(new Error('the server responded to the request for TLS with neither yes nor no'));
    }
  }

  connection.connect = (port, to) => {
    host = to;
    connect(port, to);
  };
  connection.attachListeners = (stream) => void stream.once('data', (bytes: Buffer) => goOn(stream, bytes));
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

/** The servers of one database, of which one at a time accepts writes. */
type Servers = {
  /** True if there is more than one. */
  readonly areSeveral: boolean;
  /** Returns the error of the first server if none could be asked; undefined as long as one of them responds. */
  fault(): unknown;
  /** Describes the last response of each server, for people: with hosts and without passwords. */
  describe(): string;
  /** The URL of the server that accepted writes when it was last asked; the first one of the list before that. */
  current(): string;
  /**
   * Resolves with the URL of the server that accepts writes, as soon as there is one. Calls at the same time share one
   * search, which asks all servers at the same time and again every 200 ms. If several accept writes, because a primary
   * was replaced and does not know it, the one that was promoted last is used, and never again an earlier one.
   */
  find(): Promise<string>;
  /** Resolves with `current()` once a server has been found that accepts writes: immediately, except the first time. */
  primary(): Promise<string>;
  /**
   * Watches the socket of a session with the server `url`. When it closes, the servers are asked again; when they name
   * another server, the socket is destroyed: writes to a replaced primary wait for its standbys forever, or are lost.
   */
  follow(socket: Socket, url: string): void;
};

/** Time limit for a server to report if it accepts writes. */
const ANSWER_MS = 3000;
const AGAIN_MS = 200;
/** Interval at which the servers are asked while all sessions seem well: a replaced primary does not end them. */
const WATCH_MS = 5000;
/** Equal to the start limit of PostgreSQL: a failover may be under way. */
const START_MS = 30_000;

/**
 * The servers of each DATABASE_URL of this process. They are shared, because all sessions of a process must agree on
 * which server is the primary.
 */
const knownOf = new Map<string, Servers>();

/** Returns the servers that a DATABASE_URL names; the same object for the same URL. */
export function serversOf(connectionString: string): Servers {
  const servers = knownOf.get(connectionString) ?? createServers(splitHosts(connectionString));
  knownOf.set(connectionString, servers);
  return servers;
}

function createServers(urls: readonly string[]): Servers {
  let [current = ''] = urls;
  let fault: unknown;
  let said: readonly string[] = [];
  let newestTimeline = 0;
  let isFound = urls.length === 1;
  let search: Promise<string> | null = null;
  const followed = new Map<Socket, string>();

  async function searchWritable(): Promise<string> {
    for (;;) {
      const answers = await Promise.allSettled(urls.map(findWritableTimeline));
      const refusals = answers.filter((answer) => answer.status === 'rejected');
      fault = refusals.length === urls.length ? refusals[0]?.reason : undefined;
      said = answers.map(describeAnswer);
      const timelines = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : READ_ONLY));
      const newest = Math.max(...timelines);
      const found = urls[timelines.indexOf(newest)];
      if (found !== undefined && newest >= newestTimeline) {
        [current, newestTimeline] = [found, newest];
        isFound = true;
        for (const [socket, url] of followed) if (url !== found) socket.destroy();
        return found;
      }
      await delay(AGAIN_MS, undefined, { ref: false });
    }
  }
  const find = (): Promise<string> =>
    urls.length === 1
      ? Promise.resolve(current)
      : (search ??= searchWritable().finally(() => {
          search = null;
        }));

  let watch: NodeJS.Timeout | null = null;
  return {
    areSeveral: urls.length > 1,
    fault: () => fault,
    describe: () => urls.map((url, index) => `${new URL(url).host} ${said[index] ?? 'was not asked'}`).join(', '),
    current: () => current,
    find,
    primary: () => (isFound ? Promise.resolve(current) : find()),
    follow(socket, url) {
      if (urls.length === 1) return;
      followed.set(socket, url);
      watch ??= setInterval(() => void find(), WATCH_MS).unref();
      socket.once('close', () => {
        followed.delete(socket);
        if (followed.size === 0 && watch !== null) {
          clearInterval(watch);
          watch = null;
        }
        void find();
      });
    },
  };
}

/**
 * Waits, for at most `maxMs`, until one of several hosts of DATABASE_URL accepts writes; with one host it returns
 * immediately, since opening a session reveals more. Throws a StartupError if there is none.
 */
export async function waitForPrimary(connectionString: string, maxMs = START_MS): Promise<void> {
  const servers = serversOf(connectionString);
  if (!servers.areSeveral) return;
  const stopped = new AbortController();
  const late = delay(maxMs, undefined, { signal: stopped.signal }).then(() => {
    const none = 'None of the hosts in DATABASE_URL accepts writes';
    const reason = explainDatabaseError(servers.fault());
    throw new StartupError(
      reason instanceof StartupError
        ? `${none}. ${reason.message}`
        : `${none} (${servers.describe()}): start the primary or promote a standby, or correct the list.`,
    );
  });
  await Promise.race([servers.find(), late]).finally(() => stopped.abort());
}

/**
 * Resolves when a server of DATABASE_URL responds, with one host or several, and accepts the user. Throws a
 * StartupError with the correction if none does.
 */
export async function requireAnswer(connectionString: string): Promise<void> {
  const answers = await Promise.allSettled(splitHosts(connectionString).map(findWritableTimeline));
  const refusals = answers.filter((answer) => answer.status === 'rejected');
  if (refusals.length === answers.length) throw explainDatabaseError(refusals[0]?.reason);
}

function describeAnswer(answer: PromiseSettledResult<number>): string {
  if (answer.status === 'fulfilled') return answer.value === READ_ONLY ? 'accepts no writes' : 'was replaced';
  const { reason } = answer;
  if (!(reason instanceof Error)) return 'does not respond';
  return 'code' in reason ? `does not respond: ${String(reason.code)}` : `does not respond: ${reason.message}`;
}

/** Represents the timeline of a server that is a standby or set to read-only. */
const READ_ONLY = -1;

/**
 * Finds the timeline of a server: each promotion begins one. `READ_ONLY` if it accepts no writes; 0 if a managed server
 * does not report it. Rejects if it does not respond.
 */
async function findWritableTimeline(connectionString: string): Promise<number> {
  const client = new pg.Client(
    clientConfig(connectionString, {
      application_name: 'heliograph: which server is the primary?',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    }),
  );
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (await isReadOnly(client)) return READ_ONLY;
    const asked = client.query<{ timeline: string }>(
      'SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline',
    );
    return await asked.then(
      ({ rows }) => Number.parseInt(rows[0]?.timeline ?? '', 16),
      () => 0,
    );
  } finally {
    client.end().catch(() => undefined);
  }
}

/** Rejects if the server of a new session is a standby or set to read-only, so that the session is not used. */
async function refuseReadOnly(client: pg.ClientBase): Promise<void> {
  if (await isReadOnly(client)) throw new Error('this database server does not accept writes');
}

async function isReadOnly(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
  return rows[0]?.transaction_read_only !== 'off';
}
