import { LRUCache } from 'lru-cache';
import type { Db } from '../../platform/db/query.ts';
import type { Log } from '../../platform/lib/log.ts';
import { insertLoginNetwork } from './sql.ts';

const RECORD_EVERY_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/**
 * Keeps from where people come in: written at the first time and then at most once an hour, so that a program that
 * sends its password with every request costs nothing. Resolves when written; a failure is logged, and costs that
 * person nothing but the protection from strangers' guesses.
 */
export function createNetworkRecorder({ db, log }: { db: Db; log: Log }) {
  const noted = new LRUCache<string, Promise<unknown>>({ max: MAX_REMEMBERED, ttl: RECORD_EVERY_MS });
  return async (userId: number, network: string): Promise<void> => {
    const name = `${userId} ${network}`;
    let writing = noted.get(name);
    if (!writing) noted.set(name, (writing = insertLoginNetwork(db, { userId, network })));
    await writing.catch((err: unknown) => {
      noted.delete(name);
      log.warn({ err }, 'from where a user came in could not be written');
    });
  };
}
