import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { splitHosts } from '../lib/database-url.ts';
import { clientConfig } from './client-config.ts';
import { explainDatabaseError, StartupError } from './startup-error.ts';

/** The servers of one database, of which one at a time accepts writes. */
export type Servers = {
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
const known = new Map<string, Servers>();

/** Returns the servers that a DATABASE_URL names; the same object for the same URL. */
export function serversOf(connectionString: string): Servers {
  const servers = known.get(connectionString) ?? createServers(splitHosts(connectionString));
  known.set(connectionString, servers);
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
  if (!(reason instanceof Error)) return 'does not answer';
  return 'code' in reason ? `does not answer: ${String(reason.code)}` : `does not answer: ${reason.message}`;
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
export async function refuseReadOnly(client: pg.ClientBase): Promise<void> {
  if (await isReadOnly(client)) throw new Error('this database server does not accept writes');
}

async function isReadOnly(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
  return rows[0]?.transaction_read_only !== 'off';
}
