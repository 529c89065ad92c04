import { randomUUID } from 'node:crypto';
import type { Log } from '../lib/log.ts';
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from '../lib/rate-limit.ts';
import { type Db, exec, sql } from './query.ts';

export type SharedLimiter = RateLimiter & {
  /** What came over the channel. */
  onNotify(payload: string): void;
  /** Tells the others what is left to tell. */
  close(): Promise<void>;
};

type ShareOptions = {
  readonly db: Db;
  readonly log: Log;
  /** Of NOTIFY. Whoever opens the session that listens to it calls `onNotify`. */
  readonly channel: string;
  readonly tellEveryMs?: number;
} & Pick<RateLimiterOptions, 'maxNames'>;

/** PostgreSQL takes 8,000 octets a notification. Names are ASCII. */
const PAYLOAD_LENGTH = 7_500;

/**
 * A rate limiter whose counts the processes on one database tell each other, by NOTIFY and at most four times a second:
 * one small statement for all names, off the path of the requests and none while nothing is counted. A row for each
 * name, updated with every request, would be exact across processes; but a key in use has thousands of versions of it a
 * second, which any long transaction keeps from being cleaned up.
 *
 * Notifications that get lost, with the connection, make the limit of those 60 seconds wider, never narrower.
 */
export function shareCounts({ db, log, channel, tellEveryMs = 250, maxNames }: ShareOptions): SharedLimiter {
  const me = randomUUID();
  let timer: NodeJS.Timeout | undefined;
  const tell = async (): Promise<void> => {
    const payloads = payloadsOf(me, limiter.takeNews());
    if (payloads.length === 0) return;
    await notifyAll(db, channel, payloads).catch((err: unknown) => log.warn({ err }, 'counts could not be shared'));
  };
  const tellSoon = (): void => {
    timer = setTimeout(() => void tell(), tellEveryMs).unref();
  };
  const limiter = createRateLimiter({ onNews: tellSoon, ...(maxNames !== undefined && { maxNames }) });
  return {
    ...limiter,
    onNotify(payload) {
      const [from, ...entries] = payload.split(' ');
      if (from !== me) limiter.hear(entries.map(readEntry));
    },
    async close() {
      clearTimeout(timer);
      await tell();
    },
  };
}

/** `sender name:count name:count …`, in as many as it takes. */
function payloadsOf(me: string, news: readonly (readonly [string, number])[]): string[] {
  const payloads: string[] = [];
  let payload = me;
  for (const entry of news.filter(([, count]) => count !== 0).map(([name, count]) => ` ${name}:${count}`)) {
    if (payload.length + entry.length > PAYLOAD_LENGTH) {
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

const notifyAll = (db: Db, channel: string, payloads: readonly string[]): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${channel}, payload) FROM unnest(${payloads}::text[]) AS payload`);
