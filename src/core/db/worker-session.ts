import { randomInt } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../log.ts';
import type { Listeners } from '../notifications.ts';
import { clientConfig, serversOf } from './pool.ts';
import { type Sql, sql } from './query.ts';

const RECONNECT_MS = 500;
const CONNECT_TIMEOUT_MS = 10_000;

export type WorkerSession = {
  /** The key of the advisory lock that shows other processes that this one is alive. */
  readonly owner: number;
  /** Adds listeners. Resolves when the session listens on their channels. */
  listen(listeners: Listeners): Promise<void>;
  /** Adds a function that is called when the connection is lost. */
  onLost(listener: () => void): void;
  close(): Promise<void>;
};

/** Returns a random advisory lock key for a process. */
export const newOwnerKey = (): number => randomInt(1, 2 ** 47);

/**
 * Opens the session of a process, the only one that listens for notifications. It holds the advisory lock that is
 * released when the process dies. A lost connection is reopened with the same key, and then every listener is called
 * with '', because it may have missed some; in the meantime other workers may take over this worker's chunks, which
 * every settling statement detects by its fence.
 */
export async function openWorkerSession({ connectionString, log }: SessionDeps): Promise<WorkerSession> {
  const owner = newOwnerKey();
  const listening = new Map<string, ((payload: string) => void)[]>();
  const lost: (() => void)[] = [];
  let client: pg.Client | null = null;
  let closed = false;

  const pass = (channel: string, payload: string): void =>
    listening.get(channel)?.forEach((listener) => void listener(payload));

  async function connect(): Promise<void> {
    const servers = serversOf(connectionString);
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
    next.on('notification', ({ channel, payload }) => pass(channel, payload ?? ''));
    await next.connect();
    await next.query('SELECT pg_advisory_lock($1)', [owner]);
    for (const channel of listening.keys()) await next.query(`LISTEN ${channel}`);
    next.on('end', () => {
      if (!closed) for (const listener of lost) listener();
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
        for (const channel of listening.keys()) pass(channel, '');
        return;
      } catch (err) {
        log.warn({ err }, 'worker session lost, reconnecting');
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    }
  }

  await connect();
  return {
    owner,
    async listen(listeners) {
      for (const [channel, listener] of Object.entries(listeners)) {
        const known = listening.get(channel);
        listening.set(channel, [...(known ?? []), listener]);
        if (!known) await client?.query(`LISTEN ${channel}`);
      }
    },
    onLost: (listener) => void lost.push(listener),
    async close() {
      closed = true;
      await client?.end();
    },
  };
}

type SessionDeps = { readonly connectionString: string; readonly log: Log };

/** An SQL condition: the worker with this key is alive, that is, holds its lock. */
export const isOwnerAlive = (owner: Sql): Sql => sql`EXISTS (
  SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = ${owner})`;
