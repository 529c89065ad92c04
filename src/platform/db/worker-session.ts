import { randomInt } from 'node:crypto';
import pg from 'pg';
import type { Log } from '../lib/log.ts';
import { type Sql, sql } from './query.ts';

const RECONNECT_MS = 500;

export type WorkerSession = {
  /** The advisory lock key that tells other workers that this one lives. */
  readonly owner: number;
  close(): Promise<void>;
};

/** A random advisory lock key for a worker. */
export const newOwner = (): number => randomInt(1, 2 ** 47);

/**
 * A worker's own session: it holds the advisory lock that dies with the worker, and listens. When the connection is
 * lost it is opened again under the same key; meanwhile other workers may take this one's chunks, which the fence of
 * every settle notices.
 *
 * @param channels NOTIFY channels; `onNotify` also hears each of them once after a reconnection, with payload ''
 */
export async function openWorkerSession(options: {
  /** The advisory lock key; made up where nobody needs it before. */
  owner?: number;
  connectionString: string;
  channels: readonly string[];
  onNotify: (channel: string, payload: string) => void;
  /** The connection is gone. */
  onLost?: () => void;
  log: Log;
}): Promise<WorkerSession> {
  const owner = options.owner ?? newOwner();
  let client: pg.Client | null = null;
  let closed = false;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: options.connectionString,
      application_name: 'heliograph worker session',
      keepAlive: true,
    });
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
  }

  async function reconnect(): Promise<void> {
    while (!closed) {
      try {
        await connect();
        for (const channel of options.channels) options.onNotify(channel, '');
        return;
      } catch (err) {
        options.log.warn({ err }, 'worker session lost, connecting again');
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

/** A condition: the worker with this key lives, that is, holds its lock. */
export const isAlive = (owner: Sql): Sql => sql`EXISTS (
  SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${owner})`;
