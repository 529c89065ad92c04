import { randomUUID } from 'node:crypto';
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from '../limits.ts';
import type { Log } from '../log.ts';
import type { NotifyChannel } from '../notifications.ts';
import { type Db, exec, sql } from './query.ts';

/** A rate limiter that shares its counts with other processes. */
export type SharedLimiter = RateLimiter & {
  /** Processes a notification received on the channel. */
  onNotify(payload: string): void;
  /** Publishes the remaining counts. */
  close(): Promise<void>;
};

type SharedLimiterOptions = {
  readonly db: Db;
  readonly log: Log;
  /** The channel of the notifications that are passed to `onNotify`. */
  readonly channel: NotifyChannel;
  readonly publishEveryMs?: number;
} & Pick<RateLimiterOptions, 'maxNames'>;

/** PostgreSQL accepts 8,000 bytes per notification. Names are ASCII. */
const MAX_PAYLOAD_LENGTH = 7_500;

/**
 * Creates a rate limiter whose counts are shared among the processes on one database, by NOTIFY and at most four times
 * a second: one small statement for all names, off the request path, and none while nothing is counted. A row per name,
 * updated with every request, would be exact across processes; but a busy key would create thousands of row versions a
 * second, which any long transaction keeps from being cleaned up.
 *
 * Notifications lost with a connection make the limit of those 60 seconds more permissive, never stricter.
 */
export function createSharedLimiter({
  db,
  log,
  channel,
  publishEveryMs = 250,
  maxNames,
}: SharedLimiterOptions): SharedLimiter {
  const me = randomUUID();
  let timer: NodeJS.Timeout | undefined;
  const publish = async (): Promise<void> => {
    const payloads = payloadsOf(me, limiter.takeUnpublished());
    if (payloads.length === 0) return;
    await notifyAll(db, channel, payloads).catch((err: unknown) =>
      log.warn({ err }, 'rate-limit counts could not be shared'),
    );
  };
  const schedulePublish = (): void => {
    timer = setTimeout(() => void publish(), publishEveryMs).unref();
  };
  const limiter = createRateLimiter({ onUnpublished: schedulePublish, ...(maxNames !== undefined && { maxNames }) });
  return {
    ...limiter,
    onNotify(payload) {
      const [from, ...entries] = payload.split(' ');
      if (from !== me) limiter.addRemote(entries.map(readEntry));
    },
    async close() {
      clearTimeout(timer);
      await publish();
    },
  };
}

/** Formats counts as `sender name:count name:count …`, in as many payloads as needed. */
function payloadsOf(me: string, counts: readonly (readonly [string, number])[]): string[] {
  const payloads: string[] = [];
  let payload = me;
  for (const entry of counts.filter(([, count]) => count !== 0).map(([name, count]) => ` ${name}:${count}`)) {
    if (payload.length + entry.length > MAX_PAYLOAD_LENGTH) {
      payloads.push(payload);
      payload = me;
    }
    payload += entry;
  }
  return payload === me ? payloads : [...payloads, payload];
}

function readEntry(entry: string): [string, number] {
  const colon = entry.lastIndexOf(':');
  return [entry.slice(0, colon), Number(entry.slice(colon + 1))];
}

const notifyAll = (db: Db, channel: NotifyChannel, payloads: readonly string[]): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${channel}, payload) FROM unnest(${payloads}::text[]) AS payload`);
