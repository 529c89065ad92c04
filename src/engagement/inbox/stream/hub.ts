import type { Pool } from 'pg';
import { tenant } from '../../../platform/db/tenant.ts';
import type { Log } from '../../../platform/lib/log.ts';
import { findEventBounds, type InboxEvent, listInboxEvents } from './sql.ts';

/** Receives the events of one account in their order, each once. */
export type Listener = (events: readonly InboxEvent[]) => void;

export type Hub = {
  /** Reads new events of an account; null: of all accounts, because notifications may have been missed. */
  wake(accountId: number | null): void;
  /**
   * Passes the events after the event `after` to a listener, until the returned function is called. Rejects with the
   * error of the database when the events until now cannot be read.
   */
  listen(accountId: number, after: number, listener: Listener): Promise<() => void>;
  /** Counts the listeners of an account. */
  count(accountId: number): number;
};

const EVENTS_PER_READ = 200;

type Feed = {
  readonly listeners: Set<Listener>;
  /** The newest event that was passed on. */
  at: number;
  reading: boolean;
  again: boolean;
};

/**
 * Creates a hub that passes the events of inboxes to the listeners of this process; each event is read once for all of
 * them. Events are committed in the order of their ids, so the newest id that was read determines the next ones.
 */
export function createHub({ pool, log }: { readonly pool: Pool; readonly log: Log }): Hub {
  const feeds = new Map<number, Feed>();

  async function read(accountId: number, feed: Feed): Promise<void> {
    feed.again = true;
    if (feed.reading) return;
    feed.reading = true;
    try {
      while (feed.again && feed.listeners.size > 0) {
        feed.again = false;
        const events = await listInboxEvents(tenant(pool, { accountId }), {
          accountId,
          after: feed.at,
          limit: EVENTS_PER_READ,
        });
        feed.at = events.at(-1)?.id ?? feed.at;
        if (events.length > 0) for (const listener of feed.listeners) listener(events);
        if (events.length === EVENTS_PER_READ) feed.again = true;
      }
    } catch (err) {
      log.warn({ err, accountId }, 'events of an inbox cannot be read; retrying at the next event');
    } finally {
      feed.reading = false;
    }
  }

  function join(accountId: number, newest: number, listener: Listener): Feed {
    const feed = feeds.get(accountId) ?? { listeners: new Set(), at: newest, reading: false, again: false };
    feeds.set(accountId, feed);
    feed.listeners.add(listener);
    return feed;
  }

  function leave(accountId: number, feed: Feed, listener: Listener): void {
    feed.listeners.delete(listener);
    if (feed.listeners.size === 0 && feeds.get(accountId) === feed) feeds.delete(accountId);
  }

  return {
    wake(accountId) {
      for (const [id, feed] of feeds) if (accountId === null || accountId === id) void read(id, feed);
    },
    async listen(accountId, after, listener) {
      const db = tenant(pool, { accountId });
      const { newest } = await findEventBounds(db, { accountId });
      const { hear, catchUp } = createCatchUp(after, listener);
      const feed = join(accountId, newest, hear);
      const off = (): void => leave(accountId, feed, hear);
      try {
        await catchUp((from) => listInboxEvents(db, { accountId, after: from, limit: EVENTS_PER_READ }));
      } catch (error) {
        off();
        throw error;
      }
      return off;
    },
    count: (accountId) => feeds.get(accountId)?.listeners.size ?? 0,
  };
}

/**
 * Wraps a listener that joins late: new events wait until the missed ones have been read, and events that are in both
 * are passed on once.
 */
function createCatchUp(after: number, listener: Listener) {
  let at = after;
  let waiting: InboxEvent[] | null = [];
  const pass = (events: readonly InboxEvent[]): void => {
    const fresh = events.filter((event) => event.id > at);
    at = fresh.at(-1)?.id ?? at;
    if (fresh.length > 0) listener(fresh);
  };
  return {
    hear: (events: readonly InboxEvent[]): void => (waiting ? void waiting.push(...events) : pass(events)),
    async catchUp(read: (from: number) => Promise<InboxEvent[]>): Promise<void> {
      for (;;) {
        const missed = await read(at);
        pass(missed);
        if (missed.length < EVENTS_PER_READ) break;
      }
      const heard = waiting ?? [];
      waiting = null;
      pass(heard);
    },
  };
}
