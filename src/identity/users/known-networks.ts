import { LRUCache } from 'lru-cache';
import type { Db } from '../../platform/db/query.ts';
import type { Log } from '../../platform/lib/log.ts';
import { insertLoginNetwork } from './sql.ts';

const RECORD_EVERY_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/**
 * Creates a function that records the network of a user's login: the first time and then at most once an hour, so that
 * a client that sends its password with every request costs nothing. Resolves when written. A failure is logged; the
 * user then only loses priority over unknown networks.
 */
export function createNetworkRecorder({ db, log }: { db: Db; log: Log }) {
  const noted = new LRUCache<string, Promise<unknown>>({ max: MAX_REMEMBERED, ttl: RECORD_EVERY_MS });
  return async (userId: number, network: string): Promise<void> => {
    const name = `${userId} ${network}`;
    let writing = noted.get(name);
    if (!writing) noted.set(name, (writing = insertLoginNetwork(db, { userId, network })));
    await writing.catch((err: unknown) => {
      noted.delete(name);
      log.warn({ err }, 'the network of a login could not be recorded');
    });
  };
}
