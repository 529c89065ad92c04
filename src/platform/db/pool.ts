import { Socket } from 'node:net';
import pg from 'pg';
import type { Pool } from 'pg';
import type { Log } from '../lib/log.ts';
import { clientConfig } from './client-config.ts';
import { refuseReadOnly, type Servers, serversOf } from './servers.ts';

export type PoolOptions = {
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
