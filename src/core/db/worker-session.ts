import { randomInt } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../log.ts';
import { clientConfig, serversOf } from './pool.ts';
import { type Sql, sql } from './query.ts';

const RECONNECT_MS = 500;
const CONNECT_TIMEOUT_MS = 10_000;

export type WorkerSession = {
  /** The key of the advisory lock that shows other workers that this one is alive. */
  readonly owner: number;
  close(): Promise<void>;
};

/** Returns a random advisory lock key for a worker. */
export const newOwnerKey = (): number => randomInt(1, 2 ** 47);

/**
 * Opens a worker's own session. It holds the advisory lock that is released when the worker dies, and listens for
 * notifications. A lost connection is reopened with the same key; in the meantime other workers may take over this
 * worker's chunks, which every settling statement detects by its fence.
 *
 * @param options.channels NOTIFY channels; after a reconnection `onNotify` is also called once for each, with payload
 *   ''
 */
export async function openWorkerSession(options: {
  /** The advisory lock key; a new one by default. */
  owner?: number;
  connectionString: string;
  channels: readonly string[];
  onNotify: (channel: string, payload: string) => void;
  /** Called when the connection is lost. */
  onLost?: () => void;
  log: Log;
}): Promise<WorkerSession> {
  const owner = options.owner ?? newOwnerKey();
  let client: pg.Client | null = null;
  let closed = false;

  async function connect(): Promise<void> {
    const servers = serversOf(options.connectionString);
    const url = await servers.find();
    const socket = new Socket();
    servers.follow(socket, url);
    const next = new pg.Client(
      clientConfig(url, {
        stream: () => socket,
        application_name: 'heliograph worker session',
        keepAlive: true,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      }),
    );
    next.on('error', () => undefined);
    next.on('notification', ({ channel, payload }) => options.onNotify(channel, payload ?? ''));
    await next.connect();
    await next.query('SELECT pg_advisory_lock($1)', [owner]);
    for (const channel of options.channels) await next.query(`LISTEN ${channel}`);
    next.on('end', () => {
      if (!closed) options.onLost?.();
      void reconnect();
    });
    client = next;
    // Closed in the meantime, when there was nothing to end yet.
    if (closed) await next.end();
  }

  async function reconnect(): Promise<void> {
    while (!closed) {
      try {
        await connect();
        for (const channel of options.channels) options.onNotify(channel, '');
        return;
      } catch (err) {
        options.log.warn({ err }, 'worker session lost, reconnecting');
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    }
  }

  await connect();
  return {
    owner,
    async close() {
      closed = true;
      await client?.end();
    },
  };
}

/** An SQL condition: the worker with this key is alive, that is, holds its lock. */
export const isOwnerAlive = (owner: Sql): Sql => sql`EXISTS (
  SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${owner})`;
